"""The server under test, as `cargo xtask interop` names it in the environment."""

import os
from dataclasses import dataclass
from pathlib import Path

from vaultsandbox import DeliveryStrategyType, VaultSandboxClient


@dataclass(frozen=True)
class Server:
    url: str
    smtp_host: str
    smtp_port: int
    api_key: str

    @classmethod
    def from_environment(cls) -> "Server":
        host, port = os.environ["RESTANTE_SMTP"].rsplit(":", 1)
        key = Path(os.environ["RESTANTE_API_KEY_FILE"]).read_text().strip()
        return cls(os.environ["RESTANTE_URL"], host.strip("[]"), int(port), key)

    def client(
        self, strategy: DeliveryStrategyType = DeliveryStrategyType.SSE, api_key: str | None = None
    ) -> VaultSandboxClient:
        # No retries: a step must pass at the first try. Polling is fast, because a test waits for it.
        return VaultSandboxClient(
            api_key or self.api_key, base_url=self.url, strategy=strategy, max_retries=0, polling_interval=100
        )
