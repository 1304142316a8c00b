# One image for web, worker and the migration; docker-compose.yml says which is which.
FROM python:3.11.13-slim-bookworm

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    RETRYCONTRACT_DATA_DIR=/srv/data

WORKDIR /srv/retrycontract
RUN useradd --system --no-create-home --uid 10001 retrycontract
COPY requirements.lock ./
RUN pip install --require-hashes -r requirements.lock
COPY manage.py pyproject.toml ./
COPY retrycontract retrycontract
COPY dashboard dashboard
COPY worker worker
# The files of the pages belong to the image; with keys of its own this step leaves none behind.
RUN RETRYCONTRACT_SECRET_KEY=build \
    RETRYCONTRACT_ENCRYPTION_KEYS="$(python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())')" \
    python manage.py collectstatic --no-input --verbosity 0

USER retrycontract
EXPOSE 8000
CMD ["uvicorn", "retrycontract.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--lifespan", "on", \
     "--no-access-log", "--no-server-header", "--timeout-graceful-shutdown", "10"]
