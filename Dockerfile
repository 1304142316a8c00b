# One image for web, worker and the migration; docker-compose.yml says which is which.
FROM python:3.11.15-slim-trixie

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONPATH=/srv/retrycontract RETRYCONTRACT_DATA_DIR=/srv/data RETRYCONTRACT_STATIC_DIR=/srv/static

WORKDIR /srv/retrycontract
RUN groupadd --system --gid 10001 retrycontract && \
    useradd --system --no-create-home --uid 10001 --gid 10001 retrycontract
# `backup` and `restore` call PostgreSQL's own programs, which must be of the server's version or newer.
RUN apt-get update && apt-get install -y --no-install-recommends postgresql-client-17 && rm -rf /var/lib/apt/lists/*
COPY requirements.lock ./
RUN pip install --no-deps --require-hashes -r requirements.lock
COPY manage.py pyproject.toml ./
COPY retrycontract retrycontract
COPY dashboard dashboard
COPY worker worker
COPY --chmod=755 packaging/retrycontract.sh /usr/local/bin/retrycontract
# A checkout whose files only their owner may read (umask 077) makes the same image.
RUN chmod -R u=rwX,go=rX .
# The files of the pages belong to the image, and not to a volume that outlives it; with keys of its own this step
# leaves none behind.
RUN RETRYCONTRACT_SECRET_KEY=of-the-build-alone-0123456789abcdef \
    RETRYCONTRACT_ENCRYPTION_KEYS="$(python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())')" \
    retrycontract collectstatic

# A folder of its own to write into: `docker run -v rc:/srv/data` alone serves, in one process, with what `up` makes.
RUN chown -R 10001:10001 /srv/data && chmod 700 /srv/data
VOLUME /srv/data

# By number: a cluster that asks for a user other than root cannot tell from a name.
USER 10001:10001
EXPOSE 8000
# Compose and clusters say what else a container is: web, worker or migration.
CMD ["retrycontract", "up", "--no-demo", "--host", "0.0.0.0"]
