internal import SluiceAccess
internal import SluiceModel
internal import SluiceTransport

/// Fetches the keys of issuers over HTTPS.
struct KeyFetcher: Sendable {
    private let trust: TLSTrust
    private let trustSetting: String
    private let now: @Sendable () -> Timestamp
    private let log: LogSink?

    init(_ configuration: ServerConfiguration) {
        trustSetting = configuration.issuerTrustSetting
        trust = configuration.issuerAuthorities.map { .authorities(files: [$0]) } ?? .systemAuthorities
        now = configuration.now
        log = configuration.log?.about(.login)
    }

    /// The keys of an issuer, which are fetched when they are needed.
    ///
    /// - Parameter keysURL: where they are; nil asks the issuer.
    /// - Throws: ``ServerError`` when a URL is none with `https`.
    func source(of issuer: String, keysURL: String?) throws -> KeySource {
        let first = keysURL ?? Discovery.url(of: issuer)
        do {
            _ = try HTTPFetch.endpoint(first)
        } catch {
            throw ServerError(
                .invalidConfiguration,
                "the keys of the issuer '\(issuer)' cannot be fetched: \(error); name a file with its keys, or an "
                    + "https URL")
        }
        return KeySource(issuer: issuer, now: now, log: log) { completion in
            get(first) { result in
                guard keysURL == nil else { return completion(result.flatMap(Self.keys)) }
                switch result.flatMap({ page in Result { try Discovery.keysURL(page, issuer: issuer) }.mapped }) {
                case .failure(let error): completion(.failure(error))
                case .success(let url): get(url) { completion($0.flatMap(Self.keys)) }
                }
            }
        }
    }

    private static func keys(_ bytes: [UInt8]) -> Result<KeySet, KeySetError> {
        Result { try KeySet(bytes) }.mapped
    }

    private func get(_ url: String, _ completion: @escaping @Sendable (Result<[UInt8], KeySetError>) -> Void) {
        do {
            var options = HTTPFetch.Options()
            options.trust = trust
            options.trustSetting = trustSetting
            options.byteCountMax = KeySet.byteCountMax
            try HTTPFetch.get(url, options: options, loop: try FetchLoop.loop()) { result in
                completion(result.mapError { KeySetError($0.message) })
            }
        } catch {
            completion(.failure(KeySetError("\(error)")))
        }
    }
}

extension Result where Failure == any Error {
    /// The result with the only error that it can have.
    fileprivate var mapped: Result<Success, KeySetError> {
        mapError { $0 as? KeySetError ?? KeySetError("\($0)") }
    }
}

/// The event loop on which all keys of the process are fetched, made when it is first needed.
private enum FetchLoop {
    private static let shared = Result { try EventLoop() }

    static func loop() throws -> EventLoop { try shared.get() }
}
