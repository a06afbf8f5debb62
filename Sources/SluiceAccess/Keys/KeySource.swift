package import SluiceModel
internal import Synchronization

/// Finds the keys of one issuer: in a set that was read once, or in one that is fetched when needed.
package final class KeySource: Sendable {
    /// Fetches a key set: its bytes, or why it could not be had. It calls back once, on any thread, in bounded time.
    package typealias Fetch = @Sendable (@escaping @Sendable (Result<KeySet, KeySetError>) -> Void) -> Void

    private struct State {
        var cache = KeyCache()
        var waiting: [@Sendable () -> Void] = []
    }

    private enum Origin: Sendable {
        case fixed(KeySet)
        case fetched(Fetch)
    }

    private let origin: Origin
    private let now: @Sendable () -> Timestamp
    private let log: LogSink?
    private let issuer: String
    private let state = Mutex(State())

    /// The keys of an issuer that do not change while the server runs.
    package init(_ keys: KeySet) {
        origin = .fixed(keys)
        now = { Timestamp(microseconds: 0) }
        log = nil
        issuer = ""
    }

    /// Keys that are fetched when they are needed; see ``KeyCache``.
    package init(issuer: String, now: @escaping @Sendable () -> Timestamp, log: LogSink?, fetch: @escaping Fetch) {
        origin = .fetched(fetch)
        self.issuer = issuer
        self.now = now
        self.log = log
    }

    /// Finds the key of a token.
    ///
    /// - Parameter completion: called once, at once where nothing has to be fetched, else on another thread.
    package func key(
        of token: SignedToken, completion: @escaping @Sendable (Result<VerificationKey, TokenRefusal>) -> Void
    ) {
        switch origin {
        case .fixed(let keys): completion(keys.key(of: token).map { .success($0) } ?? .failure(.unknownKey))
        case .fetched(let fetch): ask(token, fetch, completion)
        }
    }

    private func ask(
        _ token: SignedToken, _ fetch: @escaping Fetch,
        _ completion: @escaping @Sendable (Result<VerificationKey, TokenRefusal>) -> Void
    ) {
        let answer = state.withLock { state in
            let answer = state.cache.key(of: token, now: now())
            if case .wait = answer {
                // Those who wait are as many as connections may be pending.
                state.waiting.append { self.ask(token, fetch, completion) }
            }
            return answer
        }
        switch answer {
        case .key(let key): completion(.success(key))
        case .unknown: completion(.failure(.unknownKey))
        case .unavailable: completion(.failure(.keysUnavailable))
        case .wait: break
        case .fetch:
            fetch { result in
                if case .failure(let error) = result {
                    self.log?(
                        .warning, "the keys of an issuer could not be fetched",
                        [("issuer", self.issuer), ("reason", error.message)])
                }
                let waiting = self.state.withLock { state in
                    state.cache.fetched(try? result.get(), now: self.now())
                    defer { state.waiting = [] }
                    return state.waiting
                }
                self.ask(token, fetch, completion)
                for resume in waiting { resume() }
            }
        }
    }
}
