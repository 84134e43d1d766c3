# The portal: web, worker, beat and migration from one image. Runs as an ordinary user and writes to /tmp only.
FROM python:3.13-slim AS build
WORKDIR /app
RUN python -m venv /venv
COPY requirements/run.txt requirements/run.txt
RUN /venv/bin/pip install --no-cache-dir --require-hashes -r requirements/run.txt
COPY . .
RUN /venv/bin/pip install --no-cache-dir --no-index --no-build-isolation --no-deps ./agents
RUN /venv/bin/pybabel compile --directory locale --domain django
# The agent in one file, as nodes download it; and every static file, compressed and named by its content.
RUN /venv/bin/python -m portal.quickstart build-agent dist/readiness-agent.pyz
RUN SECRET_KEY=only-for-this-step STATIC_ROOT=/static /venv/bin/python manage.py collectstatic --noinput

FROM python:3.13-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin countersign
COPY --from=build /venv /venv
COPY --from=build /app /app
COPY --from=build /static /static
WORKDIR /app
USER 10001
ENV PATH=/venv/bin:$PATH \
    DJANGO_SETTINGS_MODULE=portal.settings \
    STATIC_ROOT=/static \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
EXPOSE 8000
CMD ["granian", "--interface=wsgi", "--host=0.0.0.0", "--port=8000", "--workers=2", "--blocking-threads=256", "--backlog=8192", "--backpressure=8192", "--respawn-failed-workers", "--no-ws", "portal.wsgi:application"]
