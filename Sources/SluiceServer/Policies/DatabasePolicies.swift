internal import SluiceModel
internal import SluiceWire

/// What validators and resolvers say about the uploads of a group, by the positions of classes.
struct DatabasePolicies {
    /// The most objects that a rejection names: it is stored, and told again until it is confirmed.
    private static let reasonCountMax = 16
    /// The most characters of a reason.
    private static let reasonLengthMax = 500

    let database: String
    let schema: Schema
    let validators: [Int: [WritePolicies.Validator]]
    let resolvers: [Int: ConflictResolver]
    let calls: BoundedCalls
    let log: (String, [(String, String)]) -> Void

    /// A value that is to count instead of another.
    struct Amendment {
        let object: Int
        let property: Int
        let value: Value
    }

    /// Whether a resolver decides about the objects of a class.
    func resolves(_ classIndex: Int) -> Bool {
        switch resolvers[classIndex]?.kind {
        case nil, .lastWriterWins: false
        case .serverWins, .clientWins, .custom: true
        }
    }

    /// Whether the resolver of a class is told what the object was before.
    func needsBase(_ classIndex: Int) -> Bool { if case .custom? = resolvers[classIndex]?.kind { true } else { false } }

    func record(_ row: Row, ofClass classIndex: Int) -> Record { Record(classSchema: schema[classIndex], row: row) }

    func identity(_ object: ObjectRef) -> Identity {
        Identity(className: schema[object.classIndex].name, key: object.key)
    }

    // MARK: Validators

    /// Has the changes of a transaction judged.
    ///
    /// - Parameter changes: the objects that it changes, with the states before and after.
    /// - Returns: what is amended, by positions in `changes`.
    /// - Throws: ``TransactionRejection``; nothing of the transaction counts then.
    func judge(_ changes: [(object: ObjectRef, old: Row?, new: Row?)], by userID: String?) throws(TransactionRejection)
        -> [Amendment]
    {
        var amendments: [Amendment] = []
        var reasons: [ServerMessage.Rejection.Reason] = []
        func refuse(_ object: ObjectRef, _ message: String) {
            guard reasons.count < Self.reasonCountMax else { return }
            reasons.append(
                .init(object: object, code: .writeRefused, message: String(message.prefix(Self.reasonLengthMax))))
        }
        for (classIndex, judges) in validators.sorted(by: { $0.key < $1.key }) {
            let positions = changes.indices.filter { changes[$0].object.classIndex == classIndex }
            guard !positions.isEmpty else { continue }
            let name = schema[classIndex].name
            for judge in judges {
                // Each sees what those before it have amended.
                let proposed = positions.map { position in
                    let change = changes[position]
                    var new = change.new
                    for amendment in amendments where amendment.object == position {
                        new?.values[amendment.property] = amendment.value
                    }
                    return ProposedWrite(
                        database: database, identity: identity(change.object), userID: userID,
                        old: change.old.map { record($0, ofClass: classIndex) },
                        new: new.map { record($0, ofClass: classIndex) }, schema: schema)
                }
                let verdicts: [Result<WriteVerdict, any Error>]
                do throws(BoundedCalls.Failure) {
                    verdicts = try calls.map(proposed, within: judge.timeLimit, judge.judge)
                } catch {
                    log("a validator gave no answer in time", [("class", name), ("reason", "\(error)")])
                    let message =
                        "the server's validator of \(name) \(error.text(judge.timeLimit)), so it is not known "
                        + "whether this may be written"
                    refuse(changes[positions[0]].object, message)
                    continue
                }
                for (position, verdict) in zip(positions, verdicts) {
                    let object = changes[position].object
                    switch verdict {
                    case .success(.accept): break
                    case .success(.refuse(let reason)): refuse(object, reason)
                    case .success(.amend(let values)):
                        guard changes[position].new != nil else { continue }
                        do throws(RecordError) {
                            amendments += try amended(values, of: object).map {
                                Amendment(object: position, property: $0, value: $1)
                            }
                        } catch {
                            log("a validator amended what cannot be", [("class", name), ("error", "\(error)")])
                            refuse(object, "the server's validator of \(name) amended what cannot be: \(error)")
                        }
                    case .failure(let error):
                        // What went wrong may be nothing for clients to know.
                        log("a validator failed", [("class", name), ("error", "\(error)")])
                        refuse(object, "the server's validator of \(name) failed")
                    }
                }
            }
        }
        guard reasons.isEmpty else { throw TransactionRejection(reasons: reasons) }
        return amendments
    }

    /// The values that closures have given by name, by position and as the properties hold them.
    private func amended(_ values: [String: Value], of object: ObjectRef) throws(RecordError) -> [(Int, Value)] {
        let declared = schema[object.classIndex]
        var named = PropertySet()
        var found: [(Int, Value)] = []
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            let index = try declared.index(of: name, named: &named)
            guard let fitting = declared.properties[index].type.fitting(value) else {
                throw .mismatch(value, property: declared.properties[index], of: declared)
            }
            if index == declared.primaryKeyIndex {
                guard fitting == object.key.value else {
                    throw RecordError(.missingPrimaryKey, "the primary key of a \(declared.name) cannot change")
                }
                continue
            }
            found.append((index, fitting))
        }
        return found
    }

    // MARK: Resolvers

    /// What a conflict is about, by positions.
    struct Conflict {
        let object: ObjectRef
        let base: Row?
        let local: Row
        let remote: Row
        let merged: Row
        let properties: PropertySet
    }

    /// What becomes of the conflicts of one transaction.
    ///
    /// - Returns: for each conflict the values that count instead of what the rules have made.
    func resolve(_ conflicts: [Conflict], by userID: String?) -> [[(property: Int, value: Value)]] {
        var resolved = [[(property: Int, value: Value)]](repeating: [], count: conflicts.count)
        for (classIndex, resolver) in resolvers.sorted(by: { $0.key < $1.key }) {
            let positions = conflicts.indices.filter { conflicts[$0].object.classIndex == classIndex }
            guard !positions.isEmpty else { continue }
            switch resolver.kind {
            case .lastWriterWins: break
            case .serverWins:
                for position in positions {
                    resolved[position] = conflicts[position].properties.map {
                        ($0, conflicts[position].remote.values[$0])
                    }
                }
            case .clientWins:
                for position in positions {
                    resolved[position] = conflicts[position].properties.map {
                        ($0, conflicts[position].local.values[$0])
                    }
                }
            case .custom(let timeLimit, let resolve):
                let answers = answers(conflicts, at: positions, by: userID, within: timeLimit, resolve)
                for (position, values) in zip(positions, answers) { resolved[position] = values }
            }
        }
        return resolved
    }

    private func answers(
        _ conflicts: [Conflict], at positions: [Int], by userID: String?, within timeLimit: Duration,
        _ resolve: @escaping @Sendable (WriteConflict) throws -> [String: Value]
    ) -> [[(property: Int, value: Value)]] {
        let classIndex = conflicts[positions[0]].object.classIndex
        let name = schema[classIndex].name
        let told = positions.map { position in
            let conflict = conflicts[position]
            return WriteConflict(
                database: database, identity: identity(conflict.object), userID: userID,
                base: conflict.base.map { record($0, ofClass: classIndex) },
                local: record(conflict.local, ofClass: classIndex),
                remote: record(conflict.remote, ofClass: classIndex),
                merged: record(conflict.merged, ofClass: classIndex),
                properties: Set(conflict.properties.map { schema[classIndex].properties[$0].name }),
                schema: schema)
        }
        func note(_ what: String, _ error: any Error) {
            log(what, [("class", name), ("error", "\(error)")])
        }
        do throws(BoundedCalls.Failure) {
            return try calls.map(told, within: timeLimit, resolve).enumerated().map { offset, answer in
                do {
                    return try amended(answer.get(), of: conflicts[positions[offset]].object)
                        .map { (property: $0, value: $1) }
                } catch {
                    note("a conflict resolver failed, so the rules have decided", error)
                    return []
                }
            }
        } catch {
            note("a conflict resolver gave no answer in time, so the rules have decided", error)
            return positions.map { _ in [] }
        }
    }
}

extension BoundedCalls.Failure {
    fileprivate func text(_ limit: Duration) -> String {
        switch self {
        case .timeOut: "took longer than \(limit)"
        case .timeOutInAll: "took longer than \(limit * 10) for the whole transaction"
        case .stuck: "has not returned from earlier calls"
        }
    }
}
