internal import FoundationEssentials
internal import SluiceAccess
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
        configuration.logins.hasUsers = arguments.flag("users")
        configuration.logins.allowsAnonymous = arguments.flag("allow-anonymous")
        configuration.allowsEverything = arguments.flag("allow-everything")
        if let path = arguments.value("rules") {
            configuration.rules = try SmallFile.text(path, of: "--rules", byteCountMax: 16 << 20)
        }
        configuration.isBehindTLSProxy = arguments.flag("behind-tls-proxy")
        configuration.issuerAuthorities = arguments.value("jwt-ca-file")
        if let path = arguments.value("shared-secret-file") {
            configuration.logins.sharedSecret = try SecretSource.file(path, of: "shared-secret-file")
        }
        configuration.logins.issuers = try issuers(arguments)
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
        for text in arguments.values("jwt-issuer") {
            let (name, value) = split(text) { !$0.contains("/") }
            let issuer = Discovery.preset(value) ?? value
            guard issuer.contains("://") || issuer.contains(".") else {
                throw .usage(
                    "--jwt-issuer is a URL or one of "
                        + "\(Discovery.presets.map(\.0).joined(separator: ", ")), and '\(value)' is none")
            }
            issuers.append(TokenIssuer(issuer: issuer, audiences: [], name: name))
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
                guard isUsed else { throw .usage("--\(option) needs --jwt-issuer") }
            }
        }
        try assign("jwt-audience") { (issuer, value) throws(CommandError) in issuer.audiences.append(value) }
        try assign("jwks") { (issuer, value) throws(CommandError) in
            issuer.keys = value.hasPrefix("https://") ? .url(value) : .file(value)
        }
        try assign("jwt-secret-file") { (issuer, value) throws(CommandError) in
            issuer.keys = .secret(try SecretSource.file(value, of: "jwt-secret-file"))
        }
        return issuers
    }

    /// The parts of `NAME=VALUE`, if what is before the sign is a name; else no name, and everything.
    private static func split(_ text: String, isName: (String) -> Bool) -> (name: String?, value: String) {
        guard let sign = text.firstIndex(of: "="), isName(String(text[..<sign])) else { return (nil, text) }
        return (String(text[..<sign]), String(text[text.index(after: sign)...]))
    }
}
