//! Creating an inbox: what is asked, what the policy allows, and the address that comes of it.

use std::fmt::Write as _;

use restante_envelope::{EncapsulationKey, KeyError, WireProfile, digest};
use restante_model::address::ADDRESS_MAX;
use restante_model::{AddressError, ChaosConfig, Domain, Inbox, InboxAddress, InboxHash, InboxKey, InboxMode, Ttl};
use restante_monitor::Happening;
use restante_storage::{Created, Idempotency, NewInbox, Unavailable};
use std::sync::Arc;

use crate::{ChoicePolicy, EncryptionChoice, Inboxes};

/// How often a generated alias that is taken is drawn again.
const ALIAS_DRAWS: usize = 10;

/// What a client asks for; absent fields follow the policy.
#[derive(Debug, Clone, Default)]
pub struct CreateRequest {
    /// An address, a domain, or nothing for an alias at the default domain.
    pub address: Option<String>,
    /// How long it is to live.
    pub ttl: TtlWish,
    /// Plain or encrypted.
    pub encryption: Option<EncryptionChoice>,
    /// The client's encapsulation key; ignored by plain inboxes, whatever it holds.
    pub client_key: ClientKey,
    /// Whether mail is checked for SPF, DKIM, DMARC and reverse DNS.
    pub email_auth: Option<bool>,
    /// Whether a spam filter is asked about its mail.
    pub spam_analysis: Option<bool>,
    /// Whether it is to be persistent (`true`) or ephemeral.
    pub persistent: Option<bool>,
    /// What is to be done to its mail; ignored where inboxes may not ask for faults.
    pub chaos: Option<ChaosConfig>,
    /// Set when the client may repeat the request.
    pub idempotency: Option<Idempotency>,
}

/// The `ttl` of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TtlWish {
    /// None was sent.
    #[default]
    Absent,
    /// `null`: in the `vaultsandbox` profile an inbox that asks to be persistent never ends (decisions, section 1).
    Null,
    /// Seconds.
    Secs(u64),
}

/// The `clientKemPk` of a request: only an encrypted inbox looks at it.
#[derive(Debug, Clone, Default)]
pub enum ClientKey {
    /// None was sent.
    #[default]
    Absent,
    /// Text that should be base64url.
    Text(String),
    /// A value that is not a text.
    NotText,
}

/// A field of the request that breaks a rule; its text names the field and the rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The time to live is out of range.
    #[error("ttl must be between {} and {max} seconds", Ttl::MIN_SECS)]
    Ttl {
        /// The longest allowed.
        max: u32,
    },
    /// No time to live at all, of an inbox that is to be ephemeral.
    #[error("ttl must not be null together with persistence 'ephemeral'")]
    TtlOfEphemeral,
    /// Not an address.
    #[error("emailAddress {0}")]
    Address(AddressError),
    /// Longer than a request may be.
    #[error("emailAddress must be at most {ADDRESS_MAX} characters")]
    AddressLength,
    /// A domain that this server does not take mail for.
    #[error("Domain is not allowed")]
    Domain,
    /// No key, but encryption is in effect.
    #[error("clientKemPk is required for an encrypted inbox")]
    KeyMissing,
    /// The key is not a text.
    #[error("clientKemPk must be a string")]
    KeyNotText,
    /// Not a usable ML-KEM-768 key.
    #[error("clientKemPk is {0}")]
    Key(KeyError),
    /// The policy leaves no choice.
    #[error("encryption cannot be chosen: the server's encryption policy is '{0}'")]
    Encryption(ChoicePolicy),
}

/// Why no inbox was created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// The request breaks rules; never empty.
    #[error("the request is invalid")]
    Invalid(Vec<FieldError>),
    /// A live inbox has the address.
    #[error("the address is taken")]
    AddressTaken,
    /// A live inbox has the same client key.
    #[error("the client key is taken")]
    KeyTaken,
    /// The idempotency key came with another body before.
    #[error("the idempotency key was used with another body")]
    IdempotencyReused,
    /// Every generated alias was taken.
    #[error("no free alias was found")]
    NoAlias,
    /// The store cannot tell.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// What a request turned out to mean.
struct Plan {
    place: Place,
    /// `None` for an inbox that does not end by itself.
    ttl: Option<Ttl>,
    mode: InboxMode,
}

enum Place {
    Exactly(InboxAddress),
    AliasAt(Domain),
}

impl Inboxes {
    /// Creates an inbox, or finds the one that an earlier, equal request created.
    ///
    /// # Errors
    /// Every variant of [`CreateError`]; nothing is created then.
    pub async fn create(&self, request: CreateRequest) -> Result<Arc<Inbox>, CreateError> {
        let Plan { place, ttl, mode } = self.plan(&request).map_err(CreateError::Invalid)?;
        let domain = match place {
            Place::Exactly(address) => match self.take(address.clone(), ttl, &mode, &request).await {
                Err(CreateError::AddressTaken) if self.policy().profile == WireProfile::VaultSandbox => {
                    address.domain().clone()
                }
                outcome => return outcome,
            },
            Place::AliasAt(domain) => domain,
        };
        for _ in 0..ALIAS_DRAWS {
            let alias = random_alias(self.policy().alias_random_bytes, &domain);
            match self.take(alias, ttl, &mode, &request).await {
                Err(CreateError::AddressTaken) => {}
                outcome => return outcome,
            }
        }
        Err(CreateError::NoAlias)
    }

    /// Checks every field, so that a client learns of all its errors at once.
    fn plan(&self, request: &CreateRequest) -> Result<Plan, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut keep = |error: FieldError| errors.push(error);
        let ttl = self.ttl(request).map_err(&mut keep).ok();
        let place = self.place(request).map_err(&mut keep).ok();
        let mode = self.mode(request).map_err(&mut keep).ok();
        match (place, ttl, mode) {
            (Some(place), Some(ttl), Some(mode)) => Ok(Plan { place, ttl, mode }),
            _ => Err(errors),
        }
    }

    fn ttl(&self, request: &CreateRequest) -> Result<Option<Ttl>, FieldError> {
        let max = self.policy().max_ttl_secs;
        let secs = match (request.ttl, request.persistent) {
            (TtlWish::Null, Some(false)) => return Err(FieldError::TtlOfEphemeral),
            (TtlWish::Null, Some(true)) if self.may_stay(request) => return Ok(None),
            (TtlWish::Secs(secs), _) => secs,
            (TtlWish::Absent | TtlWish::Null, _) => u64::from(self.policy().default_ttl_secs),
        };
        Ttl::from_secs(secs, max).map(Some).ok_or(FieldError::Ttl { max })
    }

    /// Whether an inbox may live without end: a persistent one in the `vaultsandbox` profile (decisions, section 1).
    fn may_stay(&self, request: &CreateRequest) -> bool {
        self.policy().profile == WireProfile::VaultSandbox && self.policy().persistence.decide(request.persistent)
    }

    fn place(&self, request: &CreateRequest) -> Result<Place, FieldError> {
        let wish = request.address.as_deref().unwrap_or("").trim();
        if wish.chars().count() > ADDRESS_MAX {
            return Err(FieldError::AddressLength);
        }
        let (place, domain) = if wish.is_empty() {
            return Ok(Place::AliasAt(self.policy().default_domain().clone()));
        } else if wish.contains('@') {
            let address = InboxAddress::parse(wish).map_err(FieldError::Address)?;
            let domain = address.domain().clone();
            (Place::Exactly(address), domain)
        } else {
            let domain = Domain::parse(wish).map_err(|_| FieldError::Domain)?;
            (Place::AliasAt(domain.clone()), domain)
        };
        if self.policy().allows(&domain) {
            Ok(place)
        } else {
            Err(FieldError::Domain)
        }
    }

    fn mode(&self, request: &CreateRequest) -> Result<InboxMode, FieldError> {
        let policy = self.policy().encryption;
        let default = if policy.is_default() {
            EncryptionChoice::Encrypted
        } else {
            EncryptionChoice::Plain
        };
        let choice = match request.encryption {
            Some(wish) if wish == default || policy.allows_choice() => wish,
            Some(_) if self.policy().profile == WireProfile::Service => return Err(FieldError::Encryption(policy)),
            _ => default,
        };
        match (choice, &request.client_key) {
            (EncryptionChoice::Plain, _) => Ok(InboxMode::Plain),
            (EncryptionChoice::Encrypted, ClientKey::Absent) => Err(FieldError::KeyMissing),
            (EncryptionChoice::Encrypted, ClientKey::NotText) => Err(FieldError::KeyNotText),
            (EncryptionChoice::Encrypted, ClientKey::Text(text)) => {
                let key = EncapsulationKey::from_base64url(text).map_err(FieldError::Key)?;
                Ok(InboxMode::Encrypted { key })
            }
        }
    }

    async fn take(
        &self,
        address: InboxAddress,
        ttl: Option<Ttl>,
        mode: &InboxMode,
        request: &CreateRequest,
    ) -> Result<Arc<Inbox>, CreateError> {
        let now = self.now();
        let hash = match mode {
            InboxMode::Plain => InboxHash::of_address(&address),
            InboxMode::Encrypted { key } => InboxHash::of_key(key),
        };
        let policy = self.policy();
        let email_auth = request.email_auth.unwrap_or(policy.email_auth_default);
        let spam_analysis = request.spam_analysis.unwrap_or(policy.spam_analysis_default);
        let chaos = request.chaos.clone().filter(|_| policy.chaos_available);
        let inbox = Inbox {
            key: InboxKey::new(now),
            address,
            hash,
            mode: mode.clone(),
            email_auth: email_auth && policy.email_auth_available,
            spam_analysis: spam_analysis && policy.spam_analysis_available,
            persistent: policy.persistence.decide(request.persistent),
            chaos: chaos.map(Arc::new),
            created_at: now,
            expires_at: ttl.map_or(Inbox::NEVER, |ttl| now.after(ttl.duration())),
        };
        let new = NewInbox {
            inbox: inbox.clone(),
            idempotency: request.idempotency,
        };
        match self.store().create_inbox(new, now).await? {
            Created::New => {
                self.shared.expiry_changed.notify_one();
                self.shared.monitor.note(Happening::InboxCreated(&inbox.address));
                Ok(Arc::new(inbox))
            }
            Created::Repeated(first) => Ok(first),
        }
    }
}

impl From<restante_storage::CreateError> for CreateError {
    fn from(error: restante_storage::CreateError) -> Self {
        use restante_storage::CreateError as Store;
        match error {
            Store::AddressTaken => Self::AddressTaken,
            Store::KeyTaken => Self::KeyTaken,
            Store::IdempotencyReused => Self::IdempotencyReused,
            Store::Unavailable(unavailable) => Self::Unavailable(unavailable),
        }
    }
}

/// An address whose local part is `bytes` random bytes in lowercase hex.
fn random_alias(bytes: usize, domain: &Domain) -> InboxAddress {
    let random: [u8; 32] = digest::random_bytes();
    let local = random.iter().take(bytes).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    InboxAddress::new(&local, domain).expect("4 to 32 bytes in hex are a local part")
}
