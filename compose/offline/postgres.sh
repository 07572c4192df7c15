#!/bin/sh
# Creates the database of POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB once, like the public image.
set -eu

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    (umask 077 && printf '%s' "$POSTGRES_PASSWORD" >/tmp/password)
    # shellcheck disable=SC2086 # several words
    initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-host=scram-sha-256 --auth-local=trust \
        ${POSTGRES_INITDB_ARGS:-}
    rm /tmp/password
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
    echo "unix_socket_directories = '/tmp'" >>"$PGDATA/postgresql.conf"

    # Only this script can connect until the database is complete.
    pg_ctl --wait --silent --options="-c listen_addresses=''" start
    ask() { psql --host=/tmp --username="$POSTGRES_USER" --no-psqlrc --quiet --set=ON_ERROR_STOP=1 "$@"; }
    ask --dbname=postgres --command="CREATE DATABASE $POSTGRES_DB"
    for file in /docker-entrypoint-initdb.d/*.sql; do
        [ ! -e "$file" ] || ask --dbname="$POSTGRES_DB" --file="$file"
    done
    pg_ctl --wait --silent --mode=fast stop
fi
exec "$@"
