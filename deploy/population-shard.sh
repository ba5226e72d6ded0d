#!/bin/sh
# Plays one shard of a population or of a grid, or continues it where it was interrupted:
# population-shard.sh NUMBER SHARDS FOLDER population mine.toml --households 100000
set -eu
number=$1
shards=$2
database=$3/shard-$number-of-$shards.db
shift 3
if [ -e "$database" ]; then
    exec weir lab "$1" --resume last --db "$database"
fi
exec weir lab "$@" --shard "$number/$shards" --db "$database"
