#!/bin/sh
# Conformance of a broker, for any CI that runs a shell script: keep the folder `previous` from run
# to run, and the folder `out` as the result.
# Put yours where the reference is started: in "Start the broker".
set -u
BROKER=127.0.0.1:4150
BROKER_HTTP=127.0.0.1:4151
BROKER_URL='nsq://127.0.0.1:4150?http=127.0.0.1:4151'
PROFILE=must
SELECTION=""  # everything; or e.g. "ext.publish nsq/http"

# Start the broker
wireproof serve nsq --tcp "$BROKER" --http "$BROKER_HTTP" > broker.log 2>&1 &
broker=$!
trap 'kill "$broker"' EXIT
timeout 60 sh -c "until wireproof doctor '$BROKER_URL' -q; do sleep 1; done" || exit 2

wireproof run "$BROKER_URL" $SELECTION --profile "$PROFILE" \
  --config wireproof.toml --bundle out/run.jsonl \
  --junit out/junit.xml --html out/report.html --allure out/allure
verdict=$?
[ -f out/run.jsonl ] || exit "$verdict"

wireproof report out/run.jsonl --badge out/badge.svg \
  --md out/statement.md --statement out/statement.html
change=0
if [ -f previous/run.jsonl ]; then
  wireproof diff previous/run.jsonl out/run.jsonl --fail-on regressed,expired
  change=$?
fi
mkdir -p previous
cp out/run.jsonl previous/run.jsonl
wireproof baseline check deviations.toml --bundle out/run.jsonl
outdated=$?

for code in "$verdict" "$change" "$outdated"; do
  [ "$code" -eq 0 ] || exit "$code"
done
