#!/bin/sh
exec python -m retrycontract "$@"
