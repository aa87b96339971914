"""Posts how an evaluation ended to a chat, whose webhook is in NDCG_SPARK_WEBHOOK: on_end = "python3 chat-hook.py"."""

import http.client
import json
import os
import re
import sys
import urllib.request

if not os.environ.get("NDCG_SPARK_WEBHOOK"):
    sys.exit("chat-hook: NDCG_SPARK_WEBHOOK is not set; give it the address of the webhook")
ended = json.load(sys.stdin)  # `if ended["exit_code"]:` would leave out the nights that pass
# Names of runs and queries are in the text: in a chat, they are no links and call nobody.
text = ended["text"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
text = re.sub(r"@(?=(all|channel|everyone|here)\b)", "@\u200b", text)
body = json.dumps({"text": text}).encode()
header = {"Content-Type": "application/json"}
try:
    webhook = urllib.request.Request(os.environ["NDCG_SPARK_WEBHOOK"], body, header)  # noqa: S310  # ours
    urllib.request.urlopen(webhook, timeout=30)  # noqa: S310  # ours
except (OSError, ValueError, http.client.HTTPException) as error:
    # Its text may have the address, which is a secret.
    reason = getattr(error, "reason", None) or type(error).__name__
    sys.exit(f"chat-hook: {getattr(error, 'code', '')} {reason}; check NDCG_SPARK_WEBHOOK")
