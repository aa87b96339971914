"""Posts how an evaluation ended to a chat, whose webhook is in NDCG_SPARK_WEBHOOK: on_end = "python3 chat-hook.py"."""

import json
import os
import sys
import urllib.request

ended = json.load(sys.stdin)  # `if ended["exit_code"]:` would leave out the nights that pass
body = json.dumps({"text": ended["text"]}).encode()
header = {"Content-Type": "application/json"}
urllib.request.urlopen(urllib.request.Request(os.environ["NDCG_SPARK_WEBHOOK"], body, header), timeout=30)  # noqa: S310
