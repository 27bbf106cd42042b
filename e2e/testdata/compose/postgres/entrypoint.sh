#!/bin/bash
# As the official image's: an empty PGDATA gets a cluster and a database, made while a server
# listens at its socket alone; then the server that everybody reaches starts.
set -euo pipefail

if [ "$(id -u)" = 0 ]; then
	chown postgres: "$PGDATA"
	chmod 700 "$PGDATA"
	exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	initdb --username="$POSTGRES_USER" --pwfile=<(echo "${POSTGRES_PASSWORD:?}")
	echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
	echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
	pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
	psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres --set db="$POSTGRES_DB" <<<'CREATE DATABASE :"db"'
	psql --username "$POSTGRES_USER" --dbname postgres -c 'SELECT pg_sleep(5)' # as long as on a slow disk
	pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec "$@"
