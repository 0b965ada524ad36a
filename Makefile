# Three commands do all the rest: `make run` judges the embedded reference, `make quick` runs the
# tests that take seconds, `make test` all tests. Each prepares what it needs; only Python 3.11 to
# 3.14 and make must be there.

PYTHON ?= python3
BIN := .venv/bin

# Tests start many processes; without compiled modules each start costs several times as much.
unexport PYTHONDONTWRITEBYTECODE

# What `make test-clients` tests: all clients, or those whose names are given.
CLIENTS ?= all
PYTHON_CLIENTS := pynsq gnsq ansq iggy_py apache_iggy_python
SPACE := $(subst ,, )

.PHONY: selftest-nsq selftest-others run quick affected test test-busy test-clients test-allure test-spark bench-aggregate bench-layouts bench-pipeline kills races setup check lint types mypy pyright imports selftest matrix crash connections mutation bench bench-reference fuzz-first fuzz-proof bench-fuzz clean help edges test-oms hostile readme flips selftest-clients licences share release wheels pictures site

run:
	@$(PYTHON) tools/setup.py core
	@$(BIN)/wireproof run --reference --bundle out/run.jsonl --html out/report.html

quick:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python tools/quick.py

affected:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python tools/affected.py $(if $(BASE),--base $(BASE)) $(ARGS)

test:
	@$(PYTHON) tools/setup.py dev
	@$(PYTHON) tools/browser.py
	@$(BIN)/python -m pytest -q -rs -n 9 --dist loadfile --no-loadscope-reorder $(if $(AFTER_QUICK),-m "(process or slow or hypothesis) and not spark" @out/after-quick.txt)

test-busy:
	@$(PYTHON) tools/setup.py dev
	@$(PYTHON) tools/browser.py
	@$(BIN)/python tools/busy.py $(if $(BUSY),--busy $(BUSY)) $(if $(TENTH),--tenth) $(if $(SEED),--seed $(SEED)) $(ARGS)

test-clients:
	@$(PYTHON) tools/setup.py $(if $(filter-out $(PYTHON_CLIENTS),$(CLIENTS)),clients,pynsq)
	@$(BIN)/python -m pytest -q -rs reference_impl/clients/tests $(if $(filter-out all,$(CLIENTS)),-k "$(subst $(SPACE), or ,$(strip $(CLIENTS)))")

test-oms:
	@$(PYTHON) tools/setup.py oms
	@mvn -q -B -f examples/adapters/java -Procketmq package
	@$(BIN)/python -m pytest -q -rs examples/adapters/tests

test-allure:
	@$(PYTHON) tools/setup.py dev
	@$(PYTHON) tools/browser.py
	@$(PYTHON) tools/allure.py
	@$(BIN)/python -m pytest -q -rs reports/tests/render/allure/test_allure_site.py reports/tests/render/allure/test_allure_pytest.py

test-spark:
	@$(PYTHON) tools/setup.py all
	@$(BIN)/python tools/s3.py
	@$(BIN)/python -m pytest -q -rs -n 2 --dist loadfile --no-loadscope-reorder -m spark reports/tests kit/tests

bench-aggregate:
	@$(PYTHON) tools/setup.py all
	@$(BIN)/python tools/bench_aggregate/run.py $(if $(ROWS),--rows $(ROWS)) $(ARGS)

bench-layouts:
	@$(PYTHON) tools/setup.py all
	@$(BIN)/python tools/bench_aggregate/layouts.py $(if $(ROWS),--rows $(ROWS)) $(ARGS)

races:
	@$(PYTHON) tools/setup.py all
	@WIREPROOF_RACES=$(or $(RACES),50) $(BIN)/python -m pytest -q -m spark reports/tests/pipeline/test_writers.py -k race

bench-pipeline:
	@$(PYTHON) tools/setup.py all
	@$(BIN)/python tools/bench_pipeline/run.py $(if $(BUNDLES),--bundles $(BUNDLES)) $(ARGS)

kills:
	@$(PYTHON) tools/setup.py all
	@$(BIN)/python tools/s3.py
	@$(BIN)/python tools/bench_pipeline/kills.py $(if $(KILLS),--kills $(KILLS)) $(ARGS)

selftest:
	@$(PYTHON) tools/setup.py dev
	@$(MAKE) -j2 --output-sync=target selftest-nsq selftest-others

# One protocol's trials wait for more than half of their time, so that others fit beside them.
selftest-nsq:
	@$(BIN)/wireproof selftest $(if $(SAMPLE),--sample) --out out/selftest.md

selftest-others:
	@$(BIN)/wireproof selftest $(if $(SAMPLE),--sample) --protocol iggy --out out/selftest-iggy.md
	@$(BIN)/wireproof selftest $(if $(SAMPLE),--sample) --protocol oms --out out/selftest-oms.md
	@$(if $(SAMPLE),$(BIN)/wireproof selftest --pairs --sample)

selftest-clients:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/wireproof selftest $(if $(SAMPLE),--sample) --clients -n 4 --out out/selftest-clients.md
	@$(BIN)/wireproof selftest $(if $(SAMPLE),--sample) --clients --protocol iggy -n 4 --out out/selftest-clients-iggy.md

matrix:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/wireproof selftest --every-case --out out/selftest.md
	@$(BIN)/wireproof selftest --protocol iggy --every-case --out out/selftest-iggy.md
	@$(BIN)/wireproof selftest --protocol oms --every-case --out out/selftest-oms.md
	@$(BIN)/wireproof selftest --clients -n 4 --every-case --out out/selftest-clients.md
	@$(BIN)/wireproof selftest --clients --protocol iggy -n 4 --every-case --out out/selftest-clients-iggy.md
	@for protocol in nsq iggy oms; do \
	  $(BIN)/wireproof selftest --dimensions --pairs --protocol $$protocol --out out/selftest-dimensions-$$protocol.md || exit; \
	done

flips:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python tools/flips.py $(if $(REFERENCE),--reference $(REFERENCE)) $(if $(EXEC),--exec "$(EXEC)") $(if $(PROTOCOL),--protocol $(PROTOCOL)) $(if $(SAMPLE),--sample) $(if $(RUNS),--runs $(RUNS)) $(ARGS)

crash:
	@$(PYTHON) tools/setup.py dev
	@WIREPROOF_KILLS=200 $(BIN)/python -m pytest -q -s reference_impl/tests/nsq/storage/test_crash.py

connections:
	@$(PYTHON) tools/setup.py dev
	@WIREPROOF_CONNECTIONS=5000 $(BIN)/python -m pytest -q -s reference_impl/tests/nsq/serving/test_many_connections.py

edges:
	@$(PYTHON) tools/setup.py dev
	@WIREPROOF_BAD_LINE=ext $(BIN)/python -m pytest -q -s kit/tests/run/test_never_green.py -k "lies or bad_line"
	@WIREPROOF_HOSTILE=whole $(BIN)/python -m pytest -q kit/tests/commands/bundles/test_hostile_bundles.py
	@WIREPROOF_FINDINGS=all $(BIN)/python -m pytest -q kit/tests/clients/test_client_fuzz_run.py
	@WIREPROOF_TOGETHER=all $(BIN)/python -m pytest -q kit/tests/run/test_read_together.py
	@WIREPROOF_INTERRUPTS=20 WIREPROOF_DEATHS=10 WIREPROOF_SELECTIONS=10 $(BIN)/python -m pytest -q kit/tests/edges

hostile:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python kit/bench/hostile_corpus.py $(ARGS)

bench:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python spec/bench/bench_shapes.py --rounds 11
	@$(BIN)/python spec/bench/bench_codec.py; codec=$$?; $(BIN)/python kit/bench/bench_queue.py && exit $$codec

fuzz-proof:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python kit/bench/fuzz_proof.py $(if $(SAMPLE),--sample) $(if $(LEGAL),--legal) $(if $(RESUME),--resume) $(ARGS)

fuzz-first:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python kit/bench/fuzz_first.py $(if $(PROTOCOL),--protocol $(PROTOCOL)) $(if $(SEED),--seed $(SEED)) $(ARGS)

bench-fuzz:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python kit/bench/bench_fuzz.py; speed=$$?; $(BIN)/python kit/bench/bench_fuzz.py --find && exit $$speed

bench-reference:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python reference_impl/bench/bench_reference.py
	@$(BIN)/python reference_impl/bench/bench_suites.py

readme:
	@$(PYTHON) tools/setup.py dev
	@$(PYTHON) tools/readme.py

share:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python tools/share.py

release:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python tools/release.py $(ARGS)

wheels:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python tools/wheels.py $(ARGS)

pictures:
	@$(PYTHON) tools/setup.py all
	@$(PYTHON) tools/browser.py
	@$(BIN)/python tools/pictures.py

site:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python tools/docs_site/run.py

licences:
	@$(PYTHON) tools/setup.py pynsq
	@$(BIN)/python tools/licences.py

mutation:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python tools/mutation/run.py

setup:
	@$(PYTHON) tools/setup.py all

check: lint mypy pyright imports

lint:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python tools/time_limits.py

types: mypy pyright

mypy pyright:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/$@

imports:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/lint-imports

clean:
	rm -rf out .venv .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

help:
	@echo "make run      judge the embedded reference, write out/report.html"
	@echo "make quick    lints, and the tests that need no process, browser or Spark"
	@echo "make affected tests of what the uncommitted change touches, else of the last commit (BASE=REVISION: since then)"
	@echo "make test     all tests (AFTER_QUICK=1: without those that make quick runs in the same way)"
	@echo "make test-busy   all tests beside 8 busy processes (BUSY=40 TENTH=1: a drawn tenth of the files beside 40)"
	@echo "make test-clients  real clients against the reference, and judged (CLIENTS=\"pynsq nsqjs\": these)"
	@echo "make test-oms     the adapters in Java, and Apache RocketMQ judged through two of them"
	@echo "make test-allure   real sites by Allure 3 and 2 from npm, and plain pytest with allure-pytest"
	@echo "make test-spark    questions on drawn histories, and a Spark cluster on loopback"
	@echo "make bench-aggregate   questions to 1, 10 and 50 million rows (ROWS=1000000: one size); goes on where it was"
	@echo "make bench-layouts   three layouts of a history, asked by Spark, DuckDB and deltalake (ROWS=1000000)"
	@echo "make races    two and three writers race for the same bundles (RACES=50)"
	@echo "make bench-pipeline    ingest of 2 000 bundles beside that of before Spark, and a table of all bounds; goes on where it was"
	@echo "make kills    kill ingest, ingest --watch and aggregate 60 times in turn (KILLS=…); goes on where it was"
	@echo "make selftest every fault, every variant, fifty mixes of variants (SAMPLE=1: a few)"
	@echo "make selftest-clients   the same for the cases that judge clients, on the example client"
	@echo "make matrix   the same, with every case that must not turn red"
	@echo "make flips    judge the example client 20 times with busy processors (SAMPLE=1: a few cases; REFERENCE=oms, EXEC=\"CMD\", ARGS=--all: every target under load, low limits and a bad line, and faults there)"
	@echo "make crash    kill a loaded broker 200 times"
	@echo "make connections   5 000 connections with flat memory"
	@echo "make fuzz-proof   a campaign for each fault of a parser (SAMPLE=1: a few; LEGAL=1: variants)"
	@echo "make fuzz-first   when a campaign first sends each dropped word, boundary and special value (SEED=1 PROTOCOL=nsq ARGS=--all)"
	@echo "make bench-fuzz   the fuzzer beside boofuzz and raw senders"
	@echo "make mutation   mutants of the reference's cores, judged by the suites"
	@echo "make edges    interrupts, deaths, baselines, and targets that lie or sulk, timed"
	@echo "make hostile   time and memory of each command on each hostile bundle"
	@echo "make licences write docs/licences.md anew, from uv.lock and the installed packages"
	@echo "make release  check, build wheel and sdist twice, write dist/ (ARGS=--tag: tag the commit; pushes nothing)"
	@echo "make wheels   try the wheel outside the checkout: each Python, each extra, uvx, pipx, and offline"
	@echo "make share    write the man page and the completion scripts anew, from the commands"
	@echo "make readme   write the samples of docs/first-steps.md anew, from real runs"
	@echo "make pictures   take docs/report.png and docs/site.png anew, from real runs"
	@echo "make site     build the documentation with search in out/site; a broken link is an error"
	@echo "make bench    speed of generated codecs and queue directories beside code by hand and construct"
	@echo "make bench-reference   speed of the reference beside servers that do next to nothing"
	@echo "make check    lint, types, import contracts"
	@echo "make setup    everything: all extras, Java for Spark"
	@echo "make clean    remove what the other commands made"
