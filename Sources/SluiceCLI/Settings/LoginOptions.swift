internal import FoundationEssentials
internal import SluiceAccess
internal import SluiceRules
internal import SluiceServer

/// The options of `serve` that say who may log in.
enum LoginOptions {
    static let options: [OptionDescription] = [
        .flag("users", "take the passwords and session tokens of users that 'sluice users' manages"),
        .value(
            "shared-secret-file", "FILE", "take a secret of 32 bytes or more that all clients share",
            completion: .files),
        .value(
            "jwt-issuer", "[NAME=]URL",
            "take tokens (JWT) of this issuer, a URL or one of: "
                + Discovery.presets.map(\.0).joined(separator: ", "), isRepeatable: true),
        .value("jwt-audience", "[NAME=]TEXT", "what tokens must name as audience", isRepeatable: true),
        .value(
            "jwks", "[NAME=]FILE|URL", "the issuer's keys; discovered by default", completion: .files,
            isRepeatable: true),
        .value(
            "jwt-secret-file", "[NAME=]FILE", "the secret of an issuer that signs by HS256", completion: .files,
            isRepeatable: true),
        .value("jwt-ca-file", "FILE", "authorities to trust when keys are fetched", completion: .files),
        .flag("allow-anonymous", "take clients without credentials, too"),
        .value("rules", "FILE", "what users may read and do; see docs/permissions.md", completion: .files),
        .flag("allow-everything", "let every user read, change and delete everything where there are no rules"),
        .flag("behind-tls-proxy", "a proxy before this server adds TLS; trust its X-Forwarded-For"),
    ]

    /// Sets what the options say.
    static func apply(_ arguments: ParsedArguments, to configuration: inout ServerConfiguration) throws(CommandError) {
        let given = options.map(\.name).filter(arguments.has)
        if arguments.flag("dev"), let option = given.first(where: { $0 != "behind-tls-proxy" && $0 != "jwt-ca-file" }) {
            throw .usage(
                "--dev lets everybody log in and do everything, so --\(option) says nothing beside it; leave out --dev to "
                    + "try rules and logins: --rules=FILE --allow-anonymous for clients without credentials, or "
                    + "--rules=FILE --users with those of 'sluice users add', needs no TLS at a loopback address")
        }
        if arguments.flag("allow-everything"), arguments.has("rules") {
            throw .usage("--allow-everything and --rules contradict each other; leave out one of them")
        }
        configuration.logins.hasUsers = arguments.flag("users")
        configuration.logins.allowsAnonymous = arguments.flag("allow-anonymous")
        configuration.allowsEverything = arguments.flag("allow-everything")
        if let path = arguments.value("rules") { configuration.rules = try rules(path) }
        configuration.isBehindTLSProxy = arguments.flag("behind-tls-proxy")
        configuration.issuerTrustSetting = "--jwt-ca-file"
        if let path = arguments.value("jwt-ca-file") {
            configuration.issuerAuthorities = path
            try checkAuthorities(path)
        }
        if let path = arguments.value("shared-secret-file") {
            configuration.logins.sharedSecret = try secret(path, of: "shared-secret-file")
        }
        configuration.logins.issuers = try issuers(arguments)
    }

    /// The text of a rules file.
    ///
    /// - Throws: ``CommandError`` with all that is wrong in it.
    private static func rules(_ path: String) throws(CommandError) -> String {
        let text = try SmallFile.text(path, of: "--rules", byteCountMax: 16 << 20)
        do throws(RulesError) { _ = try RulesFile(text) } catch {
            let lines = error.problems.map { $0.line(inFile: path) }
            throw .usage("--rules: the rules are refused: \(lines.joined(separator: "\n"))")
        }
        return text
    }

    /// A secret that is long enough.
    private static func secret(_ path: String, of option: String) throws(CommandError) -> [UInt8] {
        let secret = try SecretSource.file(path, of: option)
        guard secret.count >= SharedSecret.byteCountMin else {
            throw .usage(
                "--\(option): the secret in '\(path)' has \(secret.count) bytes; it needs "
                    + "\(SharedSecret.byteCountMin) or more")
        }
        return secret
    }

    private static func checkAuthorities(_ path: String) throws(CommandError) {
        let bytes = try SmallFile.bytes(path, of: "--jwt-ca-file", byteCountMax: 16 << 20)
        guard String(decoding: bytes, as: UTF8.self).contains("CERTIFICATE-----") else {
            throw .usage("--jwt-ca-file: '\(path)' has no certificate; name a file with authorities in PEM form")
        }
    }

    /// The files with secrets that the options name.
    static func secretFiles(_ arguments: ParsedArguments) -> [String] {
        let issuerFiles = arguments.values("jwt-secret-file").map { text in
            // NAME=FILE, or the file alone.
            FileManager.default.fileExists(atPath: text) ? text : String(text.drop { $0 != "=" }.dropFirst())
        }
        return (arguments.value("shared-secret-file").map { [$0] } ?? []) + issuerFiles
    }

    private static func issuers(_ arguments: ParsedArguments) throws(CommandError) -> [TokenIssuer] {
        var issuers: [TokenIssuer] = []
        let texts = arguments.values("jwt-issuer")
        for text in texts {
            let issuer = try issuer(text)
            guard !issuers.contains(where: { $0.issuer == issuer.issuer }) else {
                throw .usage("--jwt-issuer: the issuer of '\(text)' is named twice; leave it out once")
            }
            let others = issuers.map { $0.name ?? "" } + (arguments.flag("users") ? [""] : [])
            guard !others.contains(issuer.name ?? "") else {
                throw .usage(
                    "--jwt-issuer: '\(text)' needs a name of its own, as NAME=URL, with which the ids of its users begin: "
                        + "else two ways to log in could give one user id to different people")
            }
            issuers.append(issuer)
        }
        func assign(
            _ option: String, _ body: (inout TokenIssuer, String) throws(CommandError) -> Void
        ) throws(CommandError) {
            for text in arguments.values(option) {
                let names = Set(issuers.compactMap(\.name))
                let (name, value) = split(text) { names.contains($0) }
                var isUsed = false
                for index in issuers.indices where name == nil || issuers[index].name == name {
                    try body(&issuers[index], value)
                    isUsed = true
                }
                guard isUsed else {
                    throw .usage("--\(option)=\(text) is about an issuer of tokens; name it with --jwt-issuer=URL")
                }
            }
        }
        try assign("jwt-audience") { (issuer, value) throws(CommandError) in issuer.audiences.append(value) }
        try assign("jwks") { (issuer, value) throws(CommandError) in issuer.keys = try keys(value) }
        try assign("jwt-secret-file") { (issuer, value) throws(CommandError) in
            issuer.keys = .secret(try secret(value, of: "jwt-secret-file"))
        }
        if let index = issuers.firstIndex(where: { $0.audiences.isEmpty }) {
            throw .usage(
                "--jwt-issuer: '\(texts[index])' needs an audience, the name that its tokens have for this server: "
                    + "--jwt-audience=[NAME=]TEXT")
        }
        return issuers
    }

    /// The issuer that a value names, without audiences.
    private static func issuer(_ text: String) throws(CommandError) -> TokenIssuer {
        let (name, value) = split(text) { !$0.contains("/") }
        let issuer = Discovery.preset(value) ?? value
        guard issuer.contains("://") || issuer.contains(".") else {
            throw .usage(
                "--jwt-issuer is a URL or one of "
                    + "\(Discovery.presets.map(\.0).joined(separator: ", ")), and '\(value)' is none")
        }
        if let name, !TokenIssuer.isName(name) {
            throw .usage(
                "--jwt-issuer: a name has no blanks, colons and characters beyond ASCII, unlike that of "
                    + "'\(DisplayText.shortened(text))'")
        }
        return TokenIssuer(issuer: issuer, audiences: [], name: name)
    }

    /// Where keys are that a value names.
    private static func keys(_ value: String) throws(CommandError) -> TokenIssuer.Keys {
        if value.hasPrefix("https://") { return .url(value) }
        guard !value.contains("://") else {
            throw .usage("--jwks is a file or a URL with https, and '\(DisplayText.shortened(value))' is neither")
        }
        let bytes = try SmallFile.bytes(value, of: "--jwks", byteCountMax: KeySet.byteCountMax)
        do { _ = try KeySet(bytes) } catch {
            throw .usage("--jwks: the key set '\(DisplayText.shortened(value))' cannot be used: \(error.message)")
        }
        return .file(value)
    }

    /// The parts of `NAME=VALUE`, if what is before the sign is a name; else no name, and everything.
    private static func split(_ text: String, isName: (String) -> Bool) -> (name: String?, value: String) {
        guard let sign = text.firstIndex(of: "="), isName(String(text[..<sign])) else { return (nil, text) }
        return (String(text[..<sign]), String(text[text.index(after: sign)...]))
    }
}
