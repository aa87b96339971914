"""Posts the result of an evaluation to the chat webhook in NDCG_SPARK_WEBHOOK: on_end = "python3 chat-hook.py"."""

import http.client
import json
import os
import re
import sys
import urllib.request

if not os.environ.get("NDCG_SPARK_WEBHOOK"):
    sys.exit("chat-hook: NDCG_SPARK_WEBHOOK is not set; give it the address of the webhook")
ended = json.load(sys.stdin)  # `if ended["exit_code"]:` would leave out nights that pass
# The text contains names of runs and queries: in a chat, they must not become links or notify anybody.
text = ended["text"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
text = re.sub(r"@(?=(all|channel|everyone|here)\b)", "@\u200b", text)
body = json.dumps({"text": text}).encode()
header = {"Content-Type": "application/json"}
try:
    webhook = urllib.request.Request(os.environ["NDCG_SPARK_WEBHOOK"], body, header)  # noqa: S310  # ours
    urllib.request.urlopen(webhook, timeout=30)  # noqa: S310  # ours
except (OSError, ValueError, http.client.HTTPException) as error:
    # The error text may contain the address, which is a secret.
    reason = getattr(error, "reason", None) or type(error).__name__
    sys.exit(f"chat-hook: {getattr(error, 'code', '')} {reason}; check NDCG_SPARK_WEBHOOK")
