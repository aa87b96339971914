"""Posts how an evaluation ended to a chat, whose webhook is in NDCG_SPARK_WEBHOOK: on_end = "python3 chat-hook.py"."""

import json
import os
import sys
import urllib.request

if not os.environ.get("NDCG_SPARK_WEBHOOK"):
    sys.exit("chat-hook: NDCG_SPARK_WEBHOOK is not set; give it the address of the webhook")
ended = json.load(sys.stdin)  # `if ended["exit_code"]:` would leave out the nights that pass
body = json.dumps({"text": ended["text"]}).encode()
header = {"Content-Type": "application/json"}
try:
    webhook = urllib.request.Request(os.environ["NDCG_SPARK_WEBHOOK"], body, header)  # noqa: S310  # ours
    urllib.request.urlopen(webhook, timeout=30)  # noqa: S310  # ours
except (OSError, ValueError) as error:
    sys.exit(f"chat-hook: {error}; check NDCG_SPARK_WEBHOOK")
