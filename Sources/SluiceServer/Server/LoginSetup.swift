internal import FoundationEssentials
internal import Glibc
internal import SluiceAccess
internal import SluiceJSON
internal import SluiceModel
internal import SluiceRules
internal import SluiceStorage
internal import SluiceTransport

/// Makes what checks logins, as a configuration says.
enum LoginSetup {
    /// Checks that a configuration says who may connect and what they may do, and that no secret travels in the clear.
    ///
    /// - Throws: ``ServerError/Code/invalidConfiguration``.
    static func check(_ configuration: ServerConfiguration) throws {
        func invalid(_ message: String) -> ServerError { ServerError(.invalidConfiguration, message) }
        try check(configuration.quotas)
        let logins = configuration.logins
        if configuration.isDevelopment {
            guard logins.isEmpty, !configuration.allowsEverything, configuration.rules == nil else {
                throw invalid(
                    "a development server takes anonymous logins only and lets them do everything; leave out either "
                        + "development, or the logins and rules")
            }
            guard configuration.loopback != nil || WebSocketServer.isLoopback(configuration.host) else {
                throw invalid(
                    "a development server takes anybody, so it listens at loopback addresses only, not at "
                        + "'\(configuration.host)'")
            }
            if let host = configuration.metricsListen?.host, !WebSocketServer.isLoopback(host) {
                throw invalid(
                    "a development server shows its metrics at loopback addresses only, and not at '\(host)': listen for "
                        + "them at 127.0.0.1 or ::1, or run a server that is not for development")
            }
            return
        }
        guard !logins.isEmpty else {
            throw invalid(
                "no login method is configured: a server that is not for development must know its users, or say that "
                    + "it takes anybody")
        }
        guard configuration.allowsEverything || configuration.rules != nil else {
            throw invalid(
                "nothing says what users may read and write: name a rules file, or say that every user who logs in may "
                    + "read, change and delete everything (allowsEverything)")
        }
        guard !configuration.allowsEverything || configuration.rules == nil else {
            throw invalid("rules and 'every user may do everything' contradict each other; leave out one of them")
        }
        guard
            !configuration.mustBePrivate || configuration.loopback != nil
                || WebSocketServer.isLoopback(configuration.host)
        else {
            throw invalid(
                "credentials would travel in the clear to '\(configuration.host)': name a certificate, listen at a "
                    + "loopback address, or say that a proxy adds TLS")
        }
        try check(logins)
    }

    /// Checks quotas.
    ///
    /// - Throws: ``ServerError/Code/invalidConfiguration``.
    static func check(_ quotas: Quotas) throws {
        if let problem = quotas.problem { throw ServerError(.invalidConfiguration, problem) }
    }

    /// The rules of a configuration.
    ///
    /// - Throws: ``ServerError/Code/invalidConfiguration`` with all that is wrong in the file.
    static func rules(_ configuration: ServerConfiguration) throws -> RulesFile? {
        guard let text = configuration.rules else { return nil }
        do throws(RulesError) {
            return try RulesFile(text)
        } catch {
            throw ServerError(.invalidConfiguration, "the rules are refused: \(error)")
        }
    }

    private static func check(_ logins: ServerLogins) throws {
        func invalid(_ message: String) -> ServerError { ServerError(.invalidConfiguration, message) }
        if let secret = logins.sharedSecret, secret.count < SharedSecret.byteCountMin {
            throw invalid("the shared secret has \(secret.count) bytes; it needs \(SharedSecret.byteCountMin) or more")
        }
        var issuers: Set<String> = []
        var names: Set<String> = logins.hasUsers ? [""] : []
        for issuer in logins.issuers {
            guard issuers.insert(issuer.issuer).inserted else {
                throw invalid("the issuer '\(issuer.issuer)' is configured twice")
            }
            guard !issuer.audiences.isEmpty, !issuer.audiences.contains("") else {
                throw invalid(
                    "the issuer '\(issuer.issuer)' needs an audience: the name that its tokens have for this server")
            }
            let name = issuer.name ?? ""
            guard TokenIssuer.isName(name) else {
                throw invalid("an issuer's name has no blanks, colons and characters beyond ASCII, unlike '\(name)'")
            }
            guard names.insert(name).inserted else {
                throw invalid(
                    "two ways to log in could give one user id to different people; give the issuer "
                        + "'\(issuer.issuer)' a name of its own, which its users' ids then begin with")
            }
        }
    }

    /// Opens the users and keys of a server that is not for development.
    ///
    /// - Throws: ``ServerError``.
    static func methods(_ configuration: ServerConfiguration) throws -> Authenticator.Methods {
        var methods = Authenticator.Methods()
        methods.allowsAnonymous = configuration.logins.allowsAnonymous
        methods.sharedSecret = configuration.logins.sharedSecret.flatMap { SharedSecret($0) }
        methods.hasUsers = configuration.logins.hasUsers
        methods.directory = UserDirectory(try users(configuration), now: configuration.now)
        methods.issuers = try configuration.logins.issuers.map { try issuer($0, configuration) }
        methods.custom = configuration.logins.custom.map { custom($0, now: configuration.now) }
        return methods
    }

    /// The users of a server: those of its cluster, or those in its data folder.
    private static func users(_ configuration: ServerConfiguration) throws -> any UserStore {
        let path = configuration.dataFolder.map { $0 + "/" + UserFile.name }
        guard let journals = configuration.journals else {
            let log = configuration.log?.about(.login)
            let file: UserFile
            do {
                file = try UserFile(path) { log?(.info, "users can be changed again") }
            } catch {
                throw ServerError(.dataFolder, "the file of users cannot be used: \(error)", cause: error)
            }
            if let obstacle = file.obstacle {
                log?(
                    .warning, "users can be read and not changed, and logins are not stored",
                    [("reason", obstacle.message)])
            }
            return file
        }
        if let path, access(path, F_OK) == 0 {
            configuration.log?.about(.login)(
                .warning,
                "the data folder's file of users is not used, since the users are the cluster's; add them with "
                    + "'sluice users add --journal=URL', and remove the file", [("file", path)])
        }
        return journals.users
    }

    private static func issuer(
        _ issuer: TokenIssuer, _ configuration: ServerConfiguration
    ) throws -> Authenticator.Issuer {
        var rules = TokenRules(
            issuer: issuer.issuer, audiences: issuer.audiences, prefix: issuer.name.map { $0 + ":" } ?? "")
        switch issuer.keys {
        case .secret(let secret):
            guard let key = VerificationKey(secret: secret) else {
                throw ServerError(
                    .invalidConfiguration,
                    "the secret of the issuer '\(issuer.issuer)' has \(secret.count) bytes; it needs "
                        + "\(SharedSecret.byteCountMin) or more")
            }
            rules.algorithms = [.hs256]
            return .init(rules, KeySource(KeySet(key)))
        case .file(let path):
            func failure(_ reason: String) -> ServerError {
                ServerError(
                    .invalidConfiguration, "the key set '\(path)' of the issuer '\(issuer.issuer)': \(reason)")
            }
            guard let file = FileManager.default.contents(atPath: path) else { throw failure("it cannot be read") }
            do { return .init(rules, KeySource(try KeySet(Array(file)))) } catch { throw failure(error.message) }
        case .url(let url):
            return .init(rules, try KeyFetcher(configuration).source(of: issuer.issuer, keysURL: url))
        case .discovered:
            return .init(rules, try KeyFetcher(configuration).source(of: issuer.issuer, keysURL: nil))
        }
    }

    private static func custom(
        _ body: @escaping @Sendable (LoginRequest) async throws -> LoginUser?, now: @escaping @Sendable () -> Timestamp
    ) -> Authenticator.Custom {
        { credential, completion in
            let request: LoginRequest
            switch credential {
            case .anonymous: request = .anonymous
            case .token(let bytes):
                guard let text = String(validating: bytes, as: UTF8.self) else { return completion(nil) }
                request = .token(text)
            case .sharedSecret(let secret): request = .sharedSecret(secret)
            case .password(let name, let bytes):
                guard let password = String(validating: bytes, as: UTF8.self) else { return completion(nil) }
                request = .password(user: name, password: password)
            case .session, .unknown: return completion(nil)
            }
            // Whoever is revoked while the function decides has to log in again.
            let askedAt = now()
            Task {
                guard let user = try? await body(request), let claims = try? JSONParser.parse(user.claims),
                    case .object = claims
                else { return completion(nil) }
                completion(
                    LoginIdentity(
                        userID: user.id, method: .custom, claims: claims,
                        expiresAt: user.expiresAt.map { Timestamp($0) }, issuedAt: askedAt))
            }
        }
    }
}

extension ServerConfiguration {
    /// Whether the server may only listen where nobody can listen on the way: at loopback addresses.
    var mustBePrivate: Bool {
        isDevelopment || logins.provesUsers && certificate == nil && !isBehindTLSProxy
    }
}
