"""Tools that others published: what registration says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from retrycontract.contract import pointers
from retrycontract.contract.checks.composition import SchemaIndex
from retrycontract.contract.checks.secret_choices import CHOICES, secret_choices
from retrycontract.contract.configuration import RetryConfiguration, SanitizerMode
from retrycontract.contract.redaction.sanitizer import ValueSanitizer
from retrycontract.contract.schemas.admission import InvalidSchema, SchemaFault, admit, compile_schema, examine

if TYPE_CHECKING:
    from tests.conftest import Corpus

pytestmark = pytest.mark.corpus


def accepted_by_the_oracle(schema: Any) -> bool:
    engine = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    return not any(engine(engine.META_SCHEMA).iter_errors(schema))


def test_every_published_tool_registers_and_compiles_again(corpus: Corpus) -> None:
    refused = {}
    for row in corpus("real_tools"):
        try:
            admit(row["schema"])
            compile_schema(row["schema"])
        except InvalidSchema as fault:
            refused[row["id"]] = str(fault)
    assert refused == {}


def test_no_published_tool_is_dear_to_check_or_changed_by_admission(corpus: Corpus) -> None:
    for row in corpus("real_tools"):
        schema, before = row["schema"], repr(row["schema"])
        assert examine(schema).cheap_depth >= 8, row["id"]
        assert repr(schema) == before, row["id"]


def test_warnings_name_the_references_into_documents_that_tools_were_cut_out_of(corpus: Corpus) -> None:
    for row in corpus("real_tools"):
        for warning in examine(row["schema"]).warnings:
            if not warning.pointer.endswith("/$ref"):
                # Some list texts for an integer or an array; no other has slips.
                known = ("Nothing checks the format `path`", "No value fits: what is allowed is no ")
                assert warning.reason.startswith(known), row["id"]
                continue
            reference = pointers.resolve(row["schema"], warning.pointer)
            with pytest.raises(LookupError):
                pointers.resolve(row["schema"], reference.removeprefix("#"))


@pytest.mark.parametrize("mode", ["balanced", "strict"])
def test_every_choice_of_a_published_tool_stays_readable(corpus: Corpus, mode: SanitizerMode) -> None:
    sanitizer = ValueSanitizer(RetryConfiguration(sanitizer_mode=mode))
    for row in corpus("real_tools"):
        hidden = secret_choices(SchemaIndex(row["schema"]), sanitizer).values()
        assert not any(keyword in part for part in hidden for keyword in CHOICES), row["id"]


def test_an_invalid_published_tool_is_refused_where_its_fault_is(corpus: Corpus) -> None:
    for row in corpus("real_tools_invalid_schema"):
        schema = row["schema"]
        with pytest.raises(InvalidSchema) as caught:
            admit(schema)
        assert caught.value.code == SchemaFault.METASCHEMA, row["id"]
        engine = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        oracle = {pointers.from_tokens(error.absolute_path) for error in engine(engine.META_SCHEMA).iter_errors(schema)}
        assert caught.value.pointer in oracle, row["id"]


def test_the_metaschema_has_the_verdict_that_jsonschema_has(corpus: Corpus) -> None:
    schemas = [row["schema"] for row in corpus("real_tools")[::10] + corpus("real_tools_invalid_schema")]
    for schema in schemas:
        try:
            admit(schema)
            admitted = True
        except InvalidSchema:
            admitted = False
        assert admitted is accepted_by_the_oracle(schema)
