# Everything runs in .venv, a private environment; no activated one is needed.

# PYTHON builds the environment; JOBS processes run the tests, which wait more than they compute.
PYTHON ?= python3
JOBS ?= 3

BIN := .venv/bin
STAMP := .venv/.installed
DEBIAN := .venv/debian
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
LOCK := requirements.lock
LOCK_NOTE := \# All extras, pinned for Python 3.11+ on every platform; made by `make lock`.
SERVE_LOCK := requirements-serve.lock
SERVE_NOTE := \# What a server needs and no development tool, pinned as in requirements.lock; made by `make lock`.
COMPILE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 \
  --fork-strategy fewest --generate-hashes --no-header --python $(BIN)/python --quiet
SBOM_TOOL := cyclonedx-bom==7.5.0

export UV_PYTHON_DOWNLOADS := never
unexport PYTHONDONTWRITEBYTECODE # tests start many processes, which then need not compile all again

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # the tools use JOBS processes themselves
.SILENT:
.PHONY: help setup demo serve demo-live test check browser faketime node postgres deploy-tools lint leaderboard bench bench-live bench-policies torture docs lock sbom clean

help: ## Say what can be made
	awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## Build .venv with the project and all extras (PYTHON=... picks the Python)

demo: $(STAMP) ## Reproduce the paper; the report goes to out/report
	$(BIN)/foretell reproduce --out out/report

serve: $(STAMP) ## Start the decision service at port 8000, on foretell.db (FLAGS="--port 9000" sets more)
	$(BIN)/foretell serve $(FLAGS)

demo-live: $(STAMP) ## Start the service with four simulated campaigns, and say where its dashboard is
	$(BIN)/foretell demo-live $(FLAGS)

test: lint browser faketime node postgres deploy-tools ## Run every check and every test
	$(BIN)/python -m pytest -q -n $(JOBS)

check: lint postgres deploy-tools ## The fast loop: every check, and the tests that neither compile nor take long
	$(BIN)/python -m pytest -m "not compiled and not slow" -q -n $(JOBS)

browser: # the report is tested in a real one
	command -v chromium google-chrome chrome > /dev/null || { \
	  echo "Installing Chromium for the tests of the report"; \
	  apt-get update -qq && apt-get install -qq --no-install-recommends chromium > /dev/null; } || { \
	  echo "the tests need a Chromium on the PATH: install one and call make test again" >&2; exit 1; }

faketime: # the clock of a real server is turned
	ls $(foreach folder,/usr/lib/*/faketime /usr/lib64/faketime /usr/local/lib/faketime,$(folder)/libfaketimeMT.so.1) \
	  2> /dev/null | grep -q . || { \
	  echo "Installing libfaketime for the tests of the clock"; \
	  apt-get update -qq && apt-get install -qq --no-install-recommends libfaketime > /dev/null; } || { \
	  echo "the tests need libfaketime: install it and call make test again" >&2; exit 1; }

node: # clients of the service are generated and run in TypeScript, whose packages the tests install
	command -v node > /dev/null && command -v npm > /dev/null || { \
	  echo "Installing Node.js for the tests of generated clients"; \
	  apt-get update -qq && apt-get install -qq --no-install-recommends nodejs npm > /dev/null; } || { \
	  echo "the tests need Node.js 20 or newer and npm: install them and call make test again" >&2; exit 1; }

postgres: # the log in PostgreSQL is tested on a real server, which the tests start themselves, and a pooler
	{ command -v postgres || ls $(foreach folder,/usr/lib/postgresql/* /usr/pgsql-*,$(folder)/bin/postgres); } \
	  2> /dev/null | grep -q . || { \
	  echo "Installing PostgreSQL for the tests of the log"; \
	  apt-get update -qq && apt-get install -qq --no-install-recommends postgresql-common > /dev/null && \
	  sed -i 's/^#\?create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf && \
	  apt-get install -qq --no-install-recommends postgresql > /dev/null; } || { \
	  echo "the tests need PostgreSQL 14 or newer: install it and call make test again" >&2; exit 1; }
	command -v pgbouncer > /dev/null || test -x /usr/sbin/pgbouncer || { \
	  echo "Installing PgBouncer for the tests of the log"; \
	  apt-get update -qq && apt-get install -qq --no-install-recommends pgbouncer > /dev/null; } || { \
	  echo "the tests need PgBouncer: install it and call make test again" >&2; exit 1; }

deploy-tools: $(BIN)/python # nginx and promtool are unpacked, not installed: no service is to start
	command -v systemd-analyze > /dev/null || { \
	  echo "Installing systemd for the test of its unit: nothing of it is started"; \
	  apt-get update -qq && apt-get install -qq --no-install-recommends systemd > /dev/null; } || { \
	  echo "the tests need systemd-analyze: install it and call make test again" >&2; exit 1; }
	for tool in nginx:usr/sbin/nginx prometheus:usr/bin/promtool; do \
	  package=$${tool%%:*} file=$${tool#*:}; \
	  PATH="$$PATH:/usr/sbin" command -v $${file##*/} > /dev/null || test -x $(DEBIAN)/$$file || ( \
	    echo "Unpacking $${file##*/} for the tests of deploy/"; \
	    mkdir -p $(DEBIAN) && cd $(DEBIAN) && { apt-get download -qq $$package 2> /dev/null || \
	      { apt-get update -qq && apt-get download -qq $$package 2> /dev/null; }; } && \
	    dpkg --fsys-tarfile $${package}_*.deb | tar -x ./$$file && rm $${package}_*.deb ) || { \
	    echo "the tests need $${file##*/}: put one on the PATH and call make test again" >&2; exit 1; }; \
	done

lint: $(STAMP)
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry src

leaderboard: $(STAMP) ## Compare every policy on every scenario, and make docs/leaderboard.* again
	$(BIN)/foretell leaderboard --random 50 --out out/leaderboard
	cp out/leaderboard/leaderboard.json out/leaderboard/leaderboard-times.json docs/
	cp out/leaderboard/leaderboard-heat.svg docs/images/
	$(BIN)/python docs/generate.py

bench: $(STAMP) ## Run the benchmarks
	$(BIN)/python -m benchmarks

bench-live: $(STAMP) browser postgres ## Run the benchmarks of the service
	$(BIN)/python -m benchmarks live --out out/bench-live.json

bench-policies: $(STAMP) ## Hold the default policy against its targets, on worlds that it was not tuned on
	$(BIN)/python -m benchmarks default_policy censored --out out/bench-policies.json

torture: $(STAMP) ## Kill, cut, fill, damage and simulate the live service for long, and check its reports
	$(BIN)/python -m tests.torture --out out/torture
	$(BIN)/python -m tests.simulation --seeds 2000
	$(BIN)/python -m tests.simulation --calls 1
	$(BIN)/python -m tests.service.reports.planted_truths 400

docs: $(STAMP) ## Build the documentation site; it goes to out/site and works from disk
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	echo "The documentation is in out/site/index.html."

lock: $(STAMP) ## Make both locks again from pyproject.toml (UPGRADE=1 takes newer versions)
	cp $(LOCK) .venv/$(LOCK)
	$(COMPILE) --all-extras $(if $(UPGRADE),--upgrade) --output-file .venv/$(LOCK)
	{ printf '%s\n' '$(LOCK_NOTE)'; cat .venv/$(LOCK); } > .venv/$(LOCK).new
	cmp -s .venv/$(LOCK).new $(LOCK) || cp .venv/$(LOCK).new $(LOCK)
	rm -f .venv/$(SERVE_LOCK)
	$(COMPILE) --extra serve --extra client --extra parquet --extra postgres --no-annotate \
	  --constraint $(LOCK) --output-file .venv/$(SERVE_LOCK)
	{ printf '%s\n' '$(SERVE_NOTE)'; cat .venv/$(SERVE_LOCK); } > .venv/$(SERVE_LOCK).new
	cmp -s .venv/$(SERVE_LOCK).new $(SERVE_LOCK) || cp .venv/$(SERVE_LOCK).new $(SERVE_LOCK)

sbom: $(STAMP) ## List what a server is made of as CycloneDX JSON, in out/sbom.cdx.json
	mkdir -p out
	PYTHONWARNINGS=ignore $(BIN)/uv tool run --quiet --from $(SBOM_TOOL) cyclonedx-py requirements $(SERVE_LOCK) \
	  --pyproject pyproject.toml --mc-type application --output-reproducible \
	  --output-format JSON --output-file out/sbom.cdx.json

clean: ## Remove the environment, caches and build files; results in out/ stay
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml $(LOCK) | $(BIN)/python
	echo "Installing foretell and its extras into .venv: a minute or two the first time"
	$(PIP) install --require-hashes -r $(LOCK)
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

$(BIN)/python:
	command -v "$(PYTHON)" > /dev/null || { \
	  echo "foretell needs Python 3.11 or newer, and there is no $(PYTHON): name one with make PYTHON=..." >&2; \
	  exit 1; }
	"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "foretell needs Python 3.11 or newer, got $$("$(PYTHON)" --version 2>&1): name one with make PYTHON=..." >&2; \
	  exit 1; }
	"$(PYTHON)" -m venv .venv || { rm -rf .venv; exit 1; }
