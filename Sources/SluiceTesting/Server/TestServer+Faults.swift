public import Sluice
internal import SluiceServer
internal import SluiceWire
internal import Synchronization

/// What a test makes go wrong.
extension TestServer {
    /// Makes the server seem to reject a query of a store, from the next time that the store asks for it:
    /// `SubscriptionState.error`.
    ///
    /// - Parameters:
    ///   - results: any results of the query.
    ///   - store: the store that asks.
    ///   - code: the code of the error; one that a server uses for queries: `invalidQuery`, `unknownName`,
    ///     `notPermitted` or `limitExceeded`.
    ///   - message: what the error says.
    /// - Throws: `QueryError` when the query is wrong.
    public func reject<Element>(
        _ results: Results<Element>, of store: Store, because code: SyncError.Code = .limitExceeded,
        _ message: String = "the test rejects the query"
    ) throws {
        let query = try results.canonicalText
        link(of: store)?.add(.init(query: query, code: ErrorCode(code), message: message))
    }

    /// Ends ``reject(_:of:because:_:)`` for every query of a store: what it asks for from now on is answered.
    public func acceptQueries(of store: Store) { link(of: store)?.removeRefusals() }

    /// Makes the server reject every transaction that writes objects of a class, as a validator does, until
    /// ``acceptWrites(to:)``: the author's store shows the server's state again, and reports the reason.
    ///
    /// - Parameters:
    ///   - type: the class.
    ///   - reason: what the rejection says.
    public func rejectWrites<Element: Model>(
        to type: Element.Type, because reason: String = "the test rejects the write"
    ) {
        let server: SyncServer? = state.withLock { state in
            let isNew = state.writeRejections.updateValue(reason, forKey: Element.className) == nil
            return isNew ? state.server : nil
        }
        if let server { judgeWrites(to: Element.className, server) }
    }

    /// Ends ``rejectWrites(to:because:)``.
    public func acceptWrites<Element: Model>(to type: Element.Type) {
        state.withLock { state in
            if state.writeRejections[Element.className] != nil {
                state.writeRejections.updateValue(nil, forKey: Element.className)
            }
        }
    }

    /// Adds what judges the writes to a class by what the test wants at the time.
    func judgeWrites(to className: String, _ server: SyncServer) {
        server.onWrite(to: className) { [weak self] _ in
            let reason = self?.state.withLock { $0.writeRejections[className] ?? nil } ?? nil
            return reason.map { .refuse($0) } ?? .accept
        }
    }

    /// Makes the server seem to end a store's session because its login is over. A store whose credentials can be
    /// renewed (`Credentials.jwt(provider:)`) fetches new ones and connects again; any other needs credentials:
    /// `SessionStatus.State.needsCredentials`.
    public func expireLogin(of store: Store) {
        end(store, .credentialsExpired, "the login of the session is over", .stop)
    }

    /// Makes the server seem to end a store's session and ask it to come again, as a server does that is overloaded or
    /// restarts.
    ///
    /// - Parameters:
    ///   - store: the store.
    ///   - delay: how long the store is to wait at least.
    public func sendAway(_ store: Store, for delay: Duration = .zero) {
        end(
            store, .overloaded, "the test server asks to come again", .retry,
            retryAfter: UInt64(max(0, delay / .milliseconds(1))))
    }

    private func end(
        _ store: Store, _ code: ErrorCode, _ message: String, _ action: ErrorAction, retryAfter: UInt64 = 0
    ) {
        link(of: store)?.inject(
            .error(.init(session: 1, code: code, message: message, action: action, retryAfter: retryAfter)))
    }
}

extension ErrorCode {
    fileprivate init(_ code: SyncError.Code) {
        self =
            switch code {
            case .notPermitted: .permissionDenied
            case .notAuthenticated: .authenticationFailed
            case .schema: .incompatibleSchema
            default: ErrorCode(rawValue: code.description)
            }
    }
}
