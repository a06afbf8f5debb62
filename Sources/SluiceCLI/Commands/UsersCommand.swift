internal import SluiceAccess
internal import SluiceJSON
internal import SluiceServer
internal import SluiceStorage

/// `sluice users`: manages the users of a server or a cluster, while it runs or not.
struct UsersCommand: Command {
    static let description = CommandDescription(
        "users",
        "Manage the users of a server or a cluster: add, passwd, claims, remove, revoke, restore, unlock, list.",
        arguments: [
            ArgumentDescription(
                "ACTION", "add, passwd, claims, remove, revoke, restore, unlock or list",
                completion: .choices(Action.allCases.map(\.rawValue)))
        ],
        options: [
            .value("data", "DIR", "the folder of the server's databases", completion: .directories),
            .value("journal", "URL", "in place of --data: the journal of the cluster whose users they are"),
            .value("name", "NAME", "the user; all actions but list need it"),
            .value(
                "password-file", "FILE", "a file with the password (add, passwd); else SLUICE_PASSWORD or the terminal",
                completion: .files),
            .value("claims", "JSON", "what rules may know about the user: a JSON object (add, claims)"),
            .flag("of-issuer", "NAME is a user whom only an issuer's tokens name (revoke)"),
        ] + AuditOptions.options,
        notes: [
            "Servers may run meanwhile. passwd, remove and revoke end the user's sessions at once, and claims changes what they may do. revoke also refuses the tokens that an issuer has given the user so far; restore takes them again. It leaves the password as it is: passwd and remove keep a user out who has one.",
            "After five wrong passwords an account is locked, for up to 15 minutes; unlock and passwd end that. list shows users with logins, claims, revocations and locks.",
        ],
        examples: [
            "sluice users add --data=./data --name=ada",
            "sluice users revoke --data=./data --name=ada",
            "sluice users revoke --data=./data --name=248289761001 --of-issuer",
            "sluice users list --journal=postgres://sluice@db.example/sluice",
        ])

    private enum Action: String, CaseIterable {
        case add, passwd, claims, remove, revoke, restore, unlock, list
    }

    private let action: Action
    private let place: UsersPlace
    private let name: String
    private let claims: String?
    private let passwordFile: String?
    private let isOfIssuer: Bool
    private let audit: AuditFile?

    init(_ arguments: ParsedArguments) throws(CommandError) {
        guard let action = Action(rawValue: arguments.positionals[0]) else {
            throw .usage(
                "the action is one of \(Action.allCases.map(\.rawValue).joined(separator: ", ")), and not "
                    + "'\(DisplayText.shortened(arguments.positionals[0]))'")
        }
        place = try UsersPlace(arguments)
        guard action == .list || arguments.has("name") else { throw .usage("--name=NAME is missing: the user") }
        self.action = action
        name = arguments.value("name") ?? ""
        claims = arguments.value("claims")
        passwordFile = arguments.value("password-file")
        isOfIssuer = arguments.flag("of-issuer")
        if isOfIssuer, action != .revoke { throw .usage("--of-issuer is for revoke") }
        if action == .add, let problem = UserName.problem(with: name) { throw .usage(problem) }
        if let claims {
            guard let json = try? JSONParser.parse(claims), case .object = json else {
                throw .usage("--claims is a JSON object, such as '{\"role\":\"editor\"}'")
            }
        }
        if action == .claims, claims == nil { throw .usage("--claims=JSON is missing") }
        audit = try AuditOptions.file(arguments)
    }

    func run() async throws {
        let users = try place.open(isMaking: action == .add)
        defer { users.close() }
        let hash = action == .add || action == .passwd ? try hash() : ""
        let now = users.now
        switch action {
        case .add:
            let user = UserRecord(name: name, password: hash, claims: claims ?? "{}", createdAt: now)
            guard try users.store.write(about: name, { try $0.add(user) }) else {
                throw CommandError.failure(
                    "there is a user '\(name)' already; 'sluice users passwd' sets another password")
            }
            note(.added)
        case .passwd:
            try known(
                try users.store.write(about: name) { records in
                    _ = try records.unlock(name)
                    return try records.setPassword(hash, of: name)
                })
            note(.passwordChanged)
        case .claims:
            try known(try users.store.write(about: name) { try $0.setClaims(claims ?? "{}", of: name) })
            note(.claimsChanged)
        case .remove:
            try known(try users.store.write(about: name) { try $0.remove(name, now: now) })
            note(.removed)
        case .revoke: try revoke(users.store, now: now)
        case .restore:
            let wasRevoked = try users.store.write(about: name) { try $0.restore(name) }
            try report(wasRevoked, .restored, "revoked", users.store)
        case .unlock:
            let wasLocked = try users.store.write(about: name) { try $0.unlock(name) }
            try report(wasLocked, .unlocked, "locked", users.store)
        case .list:
            for line in try UserList(users.store, now: now).lines { StandardOutput.shared.write(line: line) }
        }
    }

    private func revoke(_ store: any UserStore, now: Int64) throws {
        // Names with a colon are those of issuers' users alone.
        let mayBeUnknown = isOfIssuer || name.contains(":")
        let (isKnown, hasPassword) = try store.write(about: name) { records in
            let hasPassword = try records.user(name) != nil
            let isKnown = try hasPassword || records.revocation(of: name) != nil
            if isKnown || mayBeUnknown { try records.revoke(name, now: now) }
            return (isKnown, hasPassword)
        }
        guard isKnown || mayBeUnknown else {
            throw CommandError.failure(
                "there is no user '\(DisplayText.shortened(name))', so nothing was revoked; --of-issuer revokes a user "
                    + "whom only an issuer's tokens name")
        }
        note(.revoked)
        if hasPassword {
            Diagnostics.report(
                "'\(DisplayText.shortened(name))' has a password, and can log in again with it; 'sluice users passwd' or "
                    + "'remove' keeps the user out")
        }
    }

    /// Says where there was nothing to do: it is no failure for a user whom the store knows.
    private func report(
        _ wasSo: Bool, _ change: AuditEvent.UserChange, _ state: String, _ store: any UserStore
    ) throws {
        if wasSo { return note(change) }
        try known(try store.read { try $0.user(name) } != nil)
        Diagnostics.report("'\(DisplayText.shortened(name))' is not \(state)")
    }

    private func note(_ change: AuditEvent.UserChange) { audit?.note(.userChanged(change, user: name)) }

    private func known(_ isKnown: Bool) throws(CommandError) {
        if !isKnown { throw .failure("there is no user '\(DisplayText.shortened(name))'") }
    }

    /// The hash of the password that file, environment or terminal give.
    private func hash() throws(CommandError) -> String {
        let password: String
        if let passwordFile {
            password = try SecretSource.text(passwordFile, of: "password-file")
        } else if let text = SecretSource.environment("SLUICE_PASSWORD") {
            password = text
        } else if let text = try PasswordPrompt.newPassword() {
            password = text
        } else {
            throw .usage(
                "the password is missing: enter it on a terminal, name a file with --password-file, or set "
                    + "SLUICE_PASSWORD")
        }
        if let problem = PasswordPolicy.problem(with: password) { throw .failure(problem) }
        guard let hash = PasswordHash(of: Array(password.utf8)) else {
            throw .failure("the password could not be hashed: that takes 128 MiB of memory")
        }
        return hash.text
    }
}
