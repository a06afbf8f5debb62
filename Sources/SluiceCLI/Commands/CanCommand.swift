internal import Sluice
internal import SluiceExchange
internal import SluiceJSON
internal import SluiceModel

/// `sluice can`: says whether a user may do something, and why.
struct CanCommand: Command {
    static let description = CommandDescription(
        "can", "Say whether a user may do something with an object, and which part of the rules decides it.",
        arguments: [
            ServerAccess.argument,
            ArgumentDescription("USER", "the user's id, or - for somebody without one"),
            ArgumentDescription(
                "ACTION", "read, create, update or delete",
                completion: .choices(["read", "create", "update", "delete"])),
            ArgumentDescription("OBJECT", "CLASS/KEY; to create, CLASS"),
        ],
        options: [
            AskedUser.claimsOption,
            .value("set", "JSON", "the values to create the object with, or to update it to: an object of properties"),
            OutputFormat.option,
        ] + ServerAccess.options,
        notes: [
            "You need the right 'reports'. The answer shows rules as they are written, with the names of variables and not their values. Claims are those of --claims, since only a login knows a user's own.",
            "Without --set, creating, and what an update leads to, are judged as far as the rules do not depend on values.",
            "The exit code is 1 if the user may not do it.",
        ],
        examples: [
            "sluice can wss://db.example.com:9443/app ada update Document/d1 --user=root",
            "sluice can wss://db.example.com:9443/app ada create Document --claims='{\"role\": \"editor\"}' --user=root",
            "sluice can wss://db.example.com:9443/app ada update Document/d1 --set='{\"owner\": \"bob\"}' --user=root",
        ])

    private let access: ServerAccess
    private let user: AskedUser
    private let action: String
    private let className: String
    private let key: String?
    /// The values to write, by property.
    private let set: [JSONValue.Member]?
    private let format: OutputFormat

    init(_ arguments: ParsedArguments) throws(CommandError) {
        access = try ServerAccess(arguments)
        user = try AskedUser(arguments.positionals[1], arguments)
        action = arguments.positionals[2]
        let parts = arguments.positionals[3].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        className = String(parts[0])
        key = parts.count == 2 ? String(parts[1]) : nil
        format = try OutputFormat.chosen(arguments)
        guard (key == nil) == (action == "create") else {
            throw .usage(
                action == "create"
                    ? "what is created has no key yet: name the class alone" : "\(action) needs an object: CLASS/KEY")
        }
        if let text = arguments.value("set") {
            guard case .object(let members)? = try? JSONParser.parse(text) else {
                throw .usage("--set is a JSON object, such as '{\"title\": \"Plan\"}'")
            }
            guard action == "create" || action == "update" else { throw .usage("\(action) takes no values (--set)") }
            set = members
        } else {
            set = nil
        }
    }

    func run() async throws {
        Signals.exitQuietly()
        let store = try await access.open()
        let question = JSONValue.object(
            user.members + [
                .init(name: "action", value: .string(action)), .init(name: "class", value: .string(className)),
            ] + (key.map { [.init(name: "key", value: .string($0))] } ?? [])
                + (try set.map { [.init(name: "set", value: .string(try proposal($0, store.schema)))] } ?? []))
        let text = try await store.core.report(.verdict(question.text), timeout: access.timeout)
        await store.close()
        let answer: JSONValue
        do throws(JSONError) { answer = try JSONParser.parse(text) } catch {
            throw CommandError.failure("the server's report is not JSON at byte \(error.position): \(error.message)")
        }
        let lines = format == .jsonl ? [answer.text] : Self.lines(answer)
        for line in lines { StandardOutput.shared.write(line: DisplayText.harmless(line)) }
        let verdict = answer["verdict"]?.string ?? ""
        guard verdict == "allowed" || verdict == "depends" else {
            throw CommandError.failure(DisplayText.harmless("\(verdict): \(answer["reason"]?.string ?? "")"))
        }
    }

    /// The values to write, as the question carries them.
    private func proposal(_ members: [JSONValue.Member], _ schema: Schema) throws -> String {
        guard let declared = schema.classSchema(named: className) else {
            throw CommandError.failure("there is no class '\(DisplayText.shortened(className))'")
        }
        var values = ValueMap()
        for member in members {
            guard let property = declared.property(named: member.name) else {
                throw CommandError.failure(RecordError.unknownProperty(member.name, of: declared).message)
            }
            do throws(ConversionError) {
                values[member.name] = try PropertyCodec(property.type, schema: schema).value(json: member.value)
            } catch { throw CommandError.usage("--set: '\(member.name)': \(error.message)") }
        }
        return Proposal.text(values)
    }

    private static func lines(_ answer: JSONValue) -> [String] {
        var lines = ["\(answer["verdict"]?.string ?? ""): \(answer["reason"]?.string ?? "")"]
        if let roles = answer["roles"]?.array {
            lines.append("roles: " + (roles.isEmpty ? "none" : roles.compactMap(\.string).joined(separator: ", ")))
        }
        for set in answer["sets"]?.array ?? [] {
            let count = set["count"]?.text ?? ""
            lines.append(
                "$user.\(set["name"]?.string ?? ""): \(count) \(GroupedNumber.noun(Int(count) ?? 0, "object"))")
        }
        for rule in answer["rules"]?.array ?? [] {
            let condition = rule["condition"]?.string ?? "there is none, which denies it"
            lines.append("\(rule["rule"]?.string ?? "") \(rule["outcome"]?.string ?? ""): \(condition)")
            lines += parts(rule, indentation: "  ")
        }
        let closed = (answer["properties"]?.array ?? []).compactMap(\.string)
        if !closed.isEmpty { lines.append("not these properties: \(closed.joined(separator: ", "))") }
        for hint in answer["hints"]?.array ?? [] { lines.append("note: \(hint.string ?? "")") }
        return lines
    }

    private static func parts(_ rule: JSONValue, indentation: String) -> [String] {
        (rule["parts"]?.array ?? []).flatMap { part in
            ["\(indentation)\(part["outcome"]?.string ?? ""): \(part["condition"]?.string ?? "")"]
                + parts(part, indentation: indentation + "  ")
        }
    }
}

/// A user about whom somebody asks.
struct AskedUser: Sendable {
    static let claimsOption = OptionDescription.value(
        "claims", "JSON", "what rules may know about that user: a JSON object")

    /// The members of a question that name the user.
    let members: [JSONValue.Member]

    /// - Parameter name: the user's id, or `-` for nobody.
    init(_ name: String, _ arguments: ParsedArguments) throws(CommandError) {
        var members = [JSONValue.Member(name: "user", value: name == "-" ? .null : .string(name))]
        if let text = arguments.value("claims") {
            guard case .object(let claims)? = try? JSONParser.parse(text) else {
                throw .usage("--claims is a JSON object, such as '{\"role\": \"editor\"}'")
            }
            members.append(.init(name: "claims", value: .object(claims)))
        }
        self.members = members
    }
}
