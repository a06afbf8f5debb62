internal import Sluice

/// Who the user of a command is: options that name files, and variables of the environment.
enum CredentialOptions {
    static let options: [OptionDescription] = [
        .value("user", "NAME", "log in as this user; the password is in --password-file or SLUICE_PASSWORD"),
        .value("password-file", "FILE", "a file with the password", completion: .files),
        .value("token-file", "FILE", "a file with a JWT or session token; or SLUICE_TOKEN", completion: .files),
        .value("secret-file", "FILE", "a file with the server's shared secret; or SLUICE_SECRET", completion: .files),
    ]

    /// The credentials that options and environment give; options come first.
    static func credentials(_ arguments: ParsedArguments) throws(CommandError) -> Credentials {
        var all: [Credentials] = []
        if let path = arguments.value("token-file") { all += token(try SecretSource.text(path, of: "token-file")) }
        if let path = arguments.value("secret-file") {
            all.append(.sharedSecret(try SecretSource.file(path, of: "secret-file")))
        }
        if let user = arguments.value("user") ?? SecretSource.environment("SLUICE_USER") {
            guard let password = try password(arguments) else {
                throw .usage(
                    "the password of '\(DisplayText.shortened(user))' is missing: name a file with "
                        + "--password-file, or set SLUICE_PASSWORD")
            }
            all.append(.password(user: user, password: password))
        } else if arguments.has("password-file") {
            throw .usage("--password-file needs --user=NAME")
        }
        if let text = SecretSource.environment("SLUICE_TOKEN") { all += token(text) }
        if let text = SecretSource.environment("SLUICE_SECRET") { all.append(.sharedSecret(Array(text.utf8))) }
        return all.isEmpty ? .anonymous : Credentials(all)
    }

    private static func password(_ arguments: ParsedArguments) throws(CommandError) -> String? {
        guard let path = arguments.value("password-file") else { return SecretSource.environment("SLUICE_PASSWORD") }
        return try SecretSource.text(path, of: "password-file")
    }

    private static func token(_ text: String) -> [Credentials] {
        text.hasPrefix("sluice_session_") ? [.session(text)] : [.jwt(text)]
    }
}
