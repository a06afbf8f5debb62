import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceTesting
import SluiceWire
import Testing

/// Two engines on one journal, of which the second follows nothing unless it is told to: what the first one has taken
/// away still counts at the second one until it appends.
///
/// Who is a member may do everything; others may read.
final class LaggingPair {
    let journal = MemoryJournal(databaseID: ObjectID(high: 7, low: 7))
    let first: Bench
    let second: Bench
    /// What the database has: planes, members, and a class without objects.
    let schema: Schema

    /// What takes a right from a user who had it.
    enum Loss: CaseIterable {
        /// An object is deleted that gave it.
        case membership
        /// Other rules do not give it.
        case rules
    }

    static let rules = """
        {"roles": {"member": "Member WHERE id == $user.id"},
         "database": {"schema": "$role.member", "rules": "$role.member", "jobs": "$role.member"},
         "classes": {"Plane": {"read": "$role.member", "create": "$role.member", "update": "$role.member"},
                     "Member": {"read": true, "delete": "$role.member"}, "Spare": {"read": true}}}
        """
    static let stricter = #"{"classes": {"Plane": {"read": false}, "Member": {"read": true}}}"#

    /// Rules that give every right of the database to everybody.
    static let generous = """
        {"database": {"schema": true, "rules": true, "jobs": true},
         "classes": {"Plane": {"read": true}, "Member": {"read": true}, "Spare": {"read": true}}}
        """

    static let member = ObjectRef(1, .string("bob"))

    /// What gives every right to cid, who had none.
    enum Gain: CaseIterable {
        /// An object is created that gives it.
        case membership
        /// Other rules give it.
        case rules
    }

    /// - Parameters:
    ///   - rules: the rules that both engines have; nil for none.
    ///   - limits, policies: what the second engine is made with.
    init(
        rules: String? = LaggingPair.rules, limits: DatabaseLimits = DatabaseLimits(), policies: WritePolicies? = nil
    ) throws {
        first = try Bench(journal: journal, seed: 1_000)
        second = try Bench(limits: limits, journal: journal.another(), seed: 2_000, policies: policies)
        schema = try Schema(
            first.planeSchema.classes
                + ["Member", "Spare"].map {
                    try ClassSchema($0, primaryKey: "id", properties: [Property("id", .scalar(.string))])
                })
        try first.engine.declare(schema)
        if let rules { try first.engine.deploy(try RulesFile(rules)) }
        try write(first, [ObjectOperation(Self.member, .create([]))])
        try second.engine.catchUp()
    }

    func write(_ node: Bench, as user: String? = nil, _ operations: [ObjectOperation]) throws {
        try node.engine.write(by: 1, as: user, now: node.now) { _, _ in OwnTransaction((), operations) }
    }

    /// Takes away at the first engine what bob may do.
    func takeRights(_ loss: Loss = .membership) throws {
        switch loss {
        case .membership: try write(first, [ObjectOperation(Self.member, .delete)])
        case .rules: try first.engine.deploy(try RulesFile(Self.stricter))
        }
    }

    /// Gives at the first engine all rights to cid.
    func giveRights(_ gain: Gain) throws {
        switch gain {
        case .membership: try write(first, [ObjectOperation(ObjectRef(1, .string("cid")), .create([]))])
        case .rules: try first.engine.deploy(try RulesFile(Self.generous))
        }
    }

    /// A schema with one more class.
    func schema(with name: String) throws -> Schema {
        try Schema(
            schema.classes + [ClassSchema(name, primaryKey: "id", properties: [Property("id", .scalar(.int))])])
    }

    /// Sends a message of a session of the second engine.
    func send(_ message: ClientMessage, _ id: SessionID) throws -> [ServerMessage] {
        try second.handle([.messages(id, [message])])
    }

    /// Lets both engines follow the journal to its end, and checks that they agree.
    func catchUp() throws {
        for node in [first, second] {
            try node.engine.catchUp()
            #expect(node.storage.head == journal.head)
        }
        #expect(first.storage.schema == second.storage.schema)
        #expect(try first.storage.rulesVersion == second.storage.rulesVersion)
    }

    static func failures(in messages: [ServerMessage]) -> [ErrorCode] {
        messages.compactMap { if case .error(let failure) = $0 { failure.code } else { nil } }
    }

    static func reportErrors(in messages: [ServerMessage]) -> [ErrorCode] {
        messages.compactMap { if case .reportError(let failure) = $0 { failure.code } else { nil } }
    }

    static func rejections(in messages: [ServerMessage]) -> [UInt64] {
        messages.compactMap { if case .rejected(let rejected) = $0 { rejected.rejection.sequence } else { nil } }
    }
}
