internal import SluiceJSON
internal import SluiceModel
internal import SluiceQuery
internal import SluiceRules
internal import SluiceStorage
internal import SluiceWire

/// Answers questions about what users may do. It only reads.
struct AccessReports {
    let database: Database
    /// The rules that hold; nil if there are none.
    let rules: AccessRules?
    let reports: Reports

    private var schema: Schema { database.storage.schema }

    /// The answer to a request.
    ///
    /// - Parameter mayReport: whether the user may ask about others.
    func answer(
        _ request: ClientMessage.ReportRequest, as access: AccessBinding, rights: [DatabaseRight]
    ) throws -> ServerMessage {
        do {
            let argument = try argument(of: request)
            let json: JSONText
            switch request.topic {
            case .privileges: json = try privileges(argument, access, rights)
            case .verdict: json = try verdict(argument)
            case .rules: json = try RulesReports(database: database, rules: rules).answer(argument)
            case .explainAs: return try explain(request, argument)
            default: return request.failure(.unknownReport, "this server has no report \(request.topic.rawValue)")
            }
            return .report(session: request.session, request: request.request, json: Array(json.text.utf8))
        } catch let refusal as RequestRejection {
            return refusal.answer(to: request)
        }
    }

    private func argument(of request: ClientMessage.ReportRequest) throws -> JSONValue {
        guard !request.argument.isEmpty else { return .object([]) }
        do throws(JSONError) { return try JSONParser.parse(request.argument) } catch {
            throw RequestRejection(code: .invalidQuery, message: "the question is not JSON at byte \(error.position)")
        }
    }

    // MARK: One's own privileges

    private func privileges(
        _ argument: JSONValue, _ access: AccessBinding, _ rights: [DatabaseRight]
    ) throws -> JSONText {
        guard argument["class"] != nil else {
            return .object(DatabaseRight.allCases.map { ($0.rawValue, .bool(rights.contains($0))) })
        }
        let (classIndex, key) = try object(argument)
        let mayCreate = try creation(argument, classIndex, key, access)
        guard let key else {
            return privileges { action in
                if action == .create, let mayCreate { return mayCreate }
                guard let rules = access.rules else { return true }
                return rules.condition(of: action, onClass: classIndex).map { !$0.isNever } ?? false
            }
        }
        // What may not be read answers as what is not there.
        guard let row = try database.storage.row(ObjectRef(classIndex, key)),
            try access.reads.allows(row, ofClass: classIndex, in: database.storage)
        else { return privileges { $0 == .create && mayCreate ?? false } }
        return try privileges { action in
            switch action {
            case .create: mayCreate ?? false
            case .read: true
            default: try access.allows(action, row, ofClass: classIndex, in: database.storage)
            }
        }
    }

    /// Whether the rules let the user create an object with the proposed values, whatever else has their key: whether
    /// somebody has it is no part of the answer, since the user may not know.
    ///
    /// - Returns: nil if no values are proposed.
    private func creation(
        _ argument: JSONValue, _ classIndex: Int, _ key: ObjectKey?, _ access: AccessBinding
    ) throws -> Bool? {
        guard let proposed = try proposed(argument, classIndex) else { return nil }
        let row = try refusing { () throws(ProposedValues.Problem) in try proposed.creation(key) }
        guard let rules = access.rules else { return true }
        let verdict = try verdict(rules, classIndex, before: nil, after: row, proposed)
        return verdict == .allowed
    }

    /// Judges a change, and nothing else of its transaction.
    private func verdict(
        _ binding: Binding, _ classIndex: Int, before: Row?, after: Row, _ proposed: ProposedValues
    ) throws -> RuleVerdict {
        let state = PreparedState(over: database.storage, schema: schema)
        var verdict = RuleVerdict.missing
        try state.attempt([(ObjectRef(classIndex, after.key), after)]) {
            verdict = try binding.verdict(
                onClass: classIndex, before: before, after: after,
                changed: proposed.changes(from: before?.values ?? schema[classIndex].defaultValues),
                old: database.storage, new: state)
        }
        return verdict
    }

    private func privileges(_ has: (RuleAction) throws -> Bool) rethrows -> JSONText {
        .object(
            try [RuleAction.read, .create, .update, .delete].map { ($0.rawValue, .bool(try has($0))) })
    }

    // MARK: Another user's

    private func verdict(_ argument: JSONValue) throws -> JSONText {
        let (user, name) = try user(argument)
        let (classIndex, key) = try object(argument)
        guard let action = argument["action"]?.string.flatMap({ RuleAction(rawValue: $0) }), action != .updateAfter
        else {
            throw RequestRejection(code: .invalidQuery, message: "an action is read, create, update or delete")
        }
        guard (key == nil) == (action == .create) else {
            throw RequestRejection(
                code: .invalidQuery, message: "create is asked of CLASS, and other actions of an object, CLASS/KEY")
        }
        let storage = database.storage
        let row = try key.flatMap { try storage.row(ObjectRef(classIndex, $0)) }
        let change = try change(argument, action, classIndex, row)
        guard let rules else {
            return .object([
                ("user", name), ("action", .string(action.rawValue)), ("class", .string(schema[classIndex].name)),
                ("verdict", .string(key != nil && row == nil ? "missing" : "allowed")),
                ("reason", .string("the database has no rules, and its users may do everything")),
            ])
        }
        let facts = try rules.facts(of: user, schema: schema, results: results)
        let compiled = rules.compiled(for: schema)
        let binding = compiled.bind(user, facts: facts)
        let state = PreparedState(over: storage, schema: schema)
        var traces = try compiled.traces(
            of: action, onClass: classIndex, row, for: user, facts: facts, in: storage)
        if let change {
            try state.attempt([(ObjectRef(classIndex, change.after.key), change.after)]) {
                let after = try compiled.traces(
                    of: action, onClass: classIndex, change.after, for: user, facts: facts, in: state)
                traces = traces.dropLast() + after.suffix(1)
            }
        }
        let closed = try closedProperties(binding, action, classIndex, row)
        if let judged = row ?? change?.after {
            let guarded = change?.written.filter { binding.writeCondition(ofProperty: $0, ofClass: classIndex) != nil }
            for property in guarded ?? closed {
                traces.append(
                    try compiled.trace(
                        ofWriting: property, by: action, onClass: classIndex, judged, for: user, facts: facts,
                        in: row == nil ? state : storage))
            }
        }
        let verdict =
            try change.map { try self.verdict(of: $0, binding, classIndex, row) }
            ?? Self.verdict(key != nil && row == nil, traces)
        return .object([
            ("user", name), ("action", .string(action.rawValue)), ("class", .string(schema[classIndex].name)),
            ("key", key.map { .string($0.description) } ?? .null), ("verdict", .string(verdict.word)),
            ("reason", .string(verdict.reason)), ("roles", .array(binding.roles.map { .string($0) })),
            (
                "sets",
                .array(
                    binding.setSizes.map {
                        .object([("name", .string($0.name)), ("count", .number(UInt64($0.count)))])
                    })
            ), ("rules", .array(traces.map(\.json))),
            ("properties", .array(closed.map { .string(schema[classIndex].properties[$0].name) })),
            ("hints", .array(compiled.file.claimMisuses(of: user.claims).map { .string($0.description) })),
        ])
    }

    /// A change that somebody asks about.
    private struct Change {
        let proposed: ProposedValues
        let after: Row
        /// The properties that differ afterwards.
        let written: PropertySet
    }

    private func change(
        _ argument: JSONValue, _ action: RuleAction, _ classIndex: Int, _ row: Row?
    ) throws -> Change? {
        guard let proposed = try proposed(argument, classIndex) else { return nil }
        guard action == .create || action == .update else {
            throw RequestRejection(code: .invalidQuery, message: "\(action.rawValue) takes no values")
        }
        if action == .update, row == nil { return nil }
        let after = try refusing { () throws(ProposedValues.Problem) in
            if let row { try proposed.update(row) } else { try proposed.creation(nil) }
        }
        let written = proposed.changes(from: row?.values ?? schema[classIndex].defaultValues)
        return Change(proposed: proposed, after: after, written: written)
    }

    private func verdict(
        of change: Change, _ binding: Binding, _ classIndex: Int, _ row: Row?
    ) throws -> (word: String, reason: String) {
        if row == nil, try database.storage.isPresent(ObjectRef(classIndex, change.after.key)) {
            return ("denied", "there is an object with this key")
        }
        return switch try verdict(binding, classIndex, before: row, after: change.after, change.proposed) {
        case .allowed: ("allowed", "every rule that the action needs holds")
        case .missing: ("missing", "the user may not read it, and so it is not there")
        case .denied(let denial):
            ("denied", denial.description + (denial.ruleName.map { ": the rule '\($0)' fails" } ?? ""))
        }
    }

    private static func verdict(_ isMissing: Bool, _ traces: [RuleTrace]) -> (word: String, reason: String) {
        if isMissing { return ("missing", "there is no such object") }
        // What an update leads to is not known.
        for trace in traces where trace.outcome == .fails && trace.action != .updateAfter && trace.property == nil {
            if trace.action == .read { return ("missing", "the user may not read it, and so it is not there") }
            return ("denied", trace.text == nil ? "no rule allows it" : "the rule '\(trace.action.rawValue)' fails")
        }
        guard traces.allSatisfy({ $0.outcome == .holds || $0.property != nil }) else {
            return ("depends", "it depends on the values that are written")
        }
        return ("allowed", "every rule that the action needs holds")
    }

    /// The properties that have a rule of their own, which denies writing them.
    private func closedProperties(
        _ binding: Binding, _ action: RuleAction, _ classIndex: Int, _ row: Row?
    ) throws -> [Int] {
        guard action == .update, let row else { return [] }
        return try schema[classIndex].properties.indices.filter { position in
            guard let condition = binding.writeCondition(ofProperty: position, ofClass: classIndex) else {
                return false
            }
            return try !condition.allows(row, in: database.storage)
        }
    }

    private func explain(_ request: ClientMessage.ReportRequest, _ argument: JSONValue) throws -> ServerMessage {
        let (user, _) = try user(argument)
        var asked = request
        asked.argument = argument["query"]?.string ?? ""
        guard let rules else { return try reports.explain(asked, as: .everything) }
        let facts = try rules.facts(of: user, schema: schema, results: results)
        return try reports.explain(asked, as: AccessBinding(rules.compiled(for: schema).bind(user, facts: facts)))
    }

    // MARK: Arguments

    private func results(of query: Query) throws -> [ObjectKey] {
        try database.storage.refs(matching: query).map(\.key)
    }

    private func user(_ argument: JSONValue) throws -> (RuleUser, JSONText) {
        let claims = argument["claims"] ?? .object([])
        guard case .object = claims else {
            throw RequestRejection(code: .invalidQuery, message: "claims are a JSON object")
        }
        switch argument["user"] {
        case .string(let id): return (RuleUser(id: id, claims: claims), .string(id))
        case nil, .null: return (RuleUser(id: nil, claims: claims), .null)
        default: throw RequestRejection(code: .invalidQuery, message: "a user is an id, or null for nobody")
        }
    }

    private func proposed(_ argument: JSONValue, _ classIndex: Int) throws -> ProposedValues? {
        guard let set = argument["set"] else { return nil }
        return try refusing { () throws(ProposedValues.Problem) in
            try ProposedValues(set.string ?? "-", ofClass: classIndex, schema: schema, limits: database.limits.data)
        }
    }

    private func refusing<Result>(_ body: () throws(ProposedValues.Problem) -> Result) throws -> Result {
        do { return try body() } catch { throw RequestRejection(code: .invalidQuery, message: error.message) }
    }

    private func object(_ argument: JSONValue) throws -> (Int, ObjectKey?) {
        guard let name = argument["class"]?.string, let classIndex = schema.index(of: name),
            !schema[classIndex].isRetired
        else {
            throw RequestRejection(
                code: .unknownName, message: "there is no class '\(argument["class"]?.string?.prefix(63) ?? "")'")
        }
        guard let text = argument["key"]?.string else { return (classIndex, nil) }
        guard let key = schema[classIndex].key(text) else {
            throw RequestRejection(
                code: .invalidQuery, message: "\(name) names its objects by \(schema[classIndex].keyType.rawValue)")
        }
        return (classIndex, key)
    }
}

extension RuleTrace {
    fileprivate var json: JSONText {
        .object([
            ("rule", .string(property.map { "\($0).write" } ?? action.rawValue)),
            ("condition", text.map { .string($0) } ?? .null),
            ("outcome", .string(outcome.rawValue)), ("parts", .array(parts.map(\.part))),
        ])
    }

    private var part: JSONText {
        .object([
            ("condition", text.map { .string($0) } ?? .null), ("outcome", .string(outcome.rawValue)),
            ("parts", .array(parts.map(\.part))),
        ])
    }
}
