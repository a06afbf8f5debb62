internal import SluiceModel
internal import SluiceWire
internal import Synchronization

/// Who connects, as whom.
extension StoreCore {
    /// The login, and how often a connection was begun or ended.
    struct LoginState {
        var credentials: Credentials
        var attempt: UInt64 = 0
    }

    func forgetAttempt() { login.withLock { $0.attempt += 1 } }

    /// Connects, once a token is here if one must be fetched.
    func connect(to server: ServerChoice) {
        let (credentials, attempt) = login.withLock { login in
            login.attempt += 1
            return (login.credentials, login.attempt)
        }
        guard credentials.areRenewable else {
            link?.connect(to: server, as: credentials) { [weak self] event in self?.receive(event) }
            return
        }
        resolve(credentials, attempt) { core, engine, resolved in
            switch resolved {
            case .success(let proofs):
                engine.handle(.credentials(proofs))
                core.link?.connect(to: server, as: credentials) { [weak core] event in core?.receive(event) }
            case .failure(let error):
                // The error itself may name what is secret.
                engine.handle(.closed(reason: "no token could be had: \(type(of: error))"))
            }
        }
    }

    /// Brings new credentials into the session after a delay, if there is a provider, and the session is still the same.
    func renewLogin(after delay: Duration) {
        let (credentials, attempt) = login.withLock { ($0.credentials, $0.attempt) }
        guard credentials.areRenewable else { return }
        configuration.environment.schedule(delay) { [weak self] in
            guard let self, login.withLock({ $0.attempt == attempt }) else { return }
            resolve(credentials, attempt) { core, engine, resolved in
                switch resolved {
                case .success(let proofs): engine.handle(.renew(proofs))
                case .failure: core.renewLogin(after: .seconds(5))
                }
            }
        }
    }

    /// Has the tokens made that credentials need, and continues on the queue unless the attempt is over by then.
    private func resolve(
        _ credentials: Credentials, _ attempt: UInt64,
        then body:
            @escaping @Sendable (
                StoreCore, ClientEngine, Result<[WireCredentials], any Error>
            ) -> Void
    ) {
        Task { [weak self] in
            let resolved: Result<[WireCredentials], any Error>
            do { resolved = .success(try await credentials.resolved()) } catch { resolved = .failure(error) }
            guard let self else { return }
            performLater { [self] engine in
                if login.withLock({ $0.attempt == attempt }) { body(self, engine, resolved) }
            }
        }
    }

    /// Chooses other values of `$client`: in the session that is open, or in the next.
    ///
    /// - Throws: ``StoreError`` when they are not what a server takes.
    func setVariables(_ variables: [String: Value]) async throws {
        let chosen = ValueMap(variables)
        if let problem = VariableLimits.problem(with: chosen) { throw StoreError(.invalidConfiguration, problem) }
        try await perform { $0.setVariables(chosen) }
    }

    /// Goes on with other credentials: in the session that is open, or in the next.
    func authenticate(_ credentials: Credentials) async throws {
        let known = credentials.areRenewable ? nil : credentials.wire
        let attempt = login.withLock { login in
            login.credentials = credentials
            return login.attempt
        }
        let isOpen = try await perform { engine in
            engine.session.login.isRenewable = known == nil
            if let known { engine.handle(.credentials(known)) }
            guard engine.isSessionOpen else {
                engine.handle(.retryAfterFailure)
                return false
            }
            if let known { engine.handle(.renew(known)) }
            return true
        }
        guard isOpen, known == nil else { return }
        resolve(credentials, attempt) { _, engine, resolved in
            if case .success(let proofs) = resolved { engine.handle(.renew(proofs)) }
        }
    }
}
