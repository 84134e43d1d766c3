#!/bin/sh
# Gives the roles of roles.sql their passwords, from the secrets of docker-compose.yml; PostgreSQL's image runs it once.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --set owner="$(cat /run/secrets/owner_password)" --set app="$(cat /run/secrets/app_password)" <<'SQL'
ALTER ROLE owner PASSWORD :'owner';
ALTER ROLE app PASSWORD :'app';
SQL
