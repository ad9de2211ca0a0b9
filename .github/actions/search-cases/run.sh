# Runs the cases and the gate, writes their reports into $OUT, and fails if one of them does.
set -u
mkdir -p "$OUT"
failed=0
python -m pytest "$CASES" --junitxml "$OUT/cases.xml" || failed=$?
if [ -n "$MEMORY" ]; then
  python -m workbench index "$MEMORY" || failed=$?
  python -m workbench gate --memory "$MEMORY" --questions "$QUESTIONS" --against "$ANSWERS" \
    ${SYSTEM:+--system "$SYSTEM"} --json > "$OUT/gate.json" || failed=$?
fi
python "$(dirname "$0")/report.py" "$OUT" || failed=$?
[ -z "${GITHUB_OUTPUT:-}" ] || echo "folder=$OUT" >> "$GITHUB_OUTPUT"
exit "$failed"
