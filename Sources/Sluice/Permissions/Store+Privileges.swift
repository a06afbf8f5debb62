internal import FoundationEssentials
public import SluiceModel
internal import SluiceWire

/// What the user of a store may do. The server decides, so these ask it, and throw where it cannot be asked: what is not
/// known is never answered with yes or no.
///
/// Answers about a class or the database are kept for the session, until the user's rights change. An answer about an
/// object is that of the moment: writes of others may change it. With objects of a class that is local the user may do
/// everything, and the server is not asked.
extension Store {
    /// Whether the user may do something with an object as it is on the server now.
    ///
    /// Creating is judged with the property values of `object`, as if nothing had its key. An update must also leave the
    /// object as the rules allow, which the server judges when it comes.
    ///
    /// - Parameters:
    ///   - privilege: one or several; of several, all must be there.
    ///   - object: names the object; its property values are used for creating alone.
    ///   - timeout: the longest wait for an answer; nil waits without limit.
    /// - Throws: ``SyncError`` when there is no session (``SyncError/Code/unreachable``), when the store has no server,
    ///   or when no answer comes in time; ``ModelError`` when `object` does not fit the store's schema;
    ///   `CancellationError`.
    public func can<Element: Model>(
        _ privilege: Privileges, _ object: Element, timeout: Duration? = nil
    ) async throws -> Bool {
        guard privilege.contains(.create) else {
            return try await privileges(of: object, timeout: timeout).isSuperset(of: privilege)
        }
        let binding = try core.binding(of: Element.self, classIndex: try core.classIndex(of: Element.className))
        let question = PrivilegeQuestion(
            class: Element.className, key: object.objectKey.description,
            set: Proposal.text(try object.encoded(for: binding), of: binding.classSchema))
        return try await core.privileges(question, timeout: timeout).isSuperset(of: privilege)
    }

    /// Whether the user may do something with objects of a class. Which of them, may depend on their values: `false`
    /// means with none.
    ///
    /// - Parameters:
    ///   - privilege: one or several; of several, all must be there.
    ///   - type: the class.
    ///   - timeout: the longest wait for an answer; nil waits without limit.
    /// - Throws: as ``privileges(ofClass:timeout:)``.
    public func can<Element: Model>(
        _ privilege: Privileges, _ type: Element.Type, timeout: Duration? = nil
    ) async throws -> Bool {
        try await privileges(ofClass: type.className, timeout: timeout).isSuperset(of: privilege)
    }

    /// What the user may do with an object as it is on the server now; nothing if it is not there, or may not be read.
    ///
    /// - Parameters:
    ///   - object: names the object; its property values are not used.
    ///   - timeout: the longest wait for an answer; nil waits without limit.
    /// - Throws: ``SyncError`` when there is no session (``SyncError/Code/unreachable``), when the store has no server,
    ///   or when no answer comes in time; `CancellationError`.
    public func privileges<Element: Model>(of object: Element, timeout: Duration? = nil) async throws -> Privileges {
        try await privileges(
            of: Identity(className: Element.className, key: object.objectKey), timeout: timeout)
    }

    /// What the user may do with a named object as it is on the server now; nothing if it is not there, or may not be
    /// read.
    ///
    /// - Parameters:
    ///   - object: its class and key.
    ///   - timeout: the longest wait for an answer; nil waits without limit.
    /// - Throws: as ``privileges(ofClass:timeout:)``.
    public func privileges(of object: Identity, timeout: Duration? = nil) async throws -> Privileges {
        let question = PrivilegeQuestion(class: object.className, key: object.key.description)
        return try await core.privileges(question, timeout: timeout)
    }

    /// What the user may do with objects of a class. Which of them, may depend on their values: what is missing here the
    /// user may do with none.
    ///
    /// - Parameters:
    ///   - className: the class's name.
    ///   - timeout: the longest wait for an answer; nil waits without limit.
    /// - Throws: ``SyncError`` when there is no session (``SyncError/Code/unreachable``), when the store has no server,
    ///   when the server has no such class, or when no answer comes in time; `CancellationError`.
    public func privileges(ofClass className: String, timeout: Duration? = nil) async throws -> Privileges {
        try await core.privileges(PrivilegeQuestion(class: className), timeout: timeout)
    }

    /// What the user may do with the database as a whole.
    ///
    /// - Parameter timeout: the longest wait for an answer; nil waits without limit.
    /// - Throws: as ``privileges(ofClass:timeout:)``.
    public func databasePrivileges(timeout: Duration? = nil) async throws -> DatabasePrivileges {
        let answer = try await core.answers(PrivilegeQuestion(), timeout: timeout)
        var privileges: DatabasePrivileges = []
        for (name, privilege) in [
            ("schema", DatabasePrivileges.schema), ("reports", .reports), ("rules", .rules), ("messages", .messages),
            ("jobs", .jobs),
        ] where answer[name] == true { privileges.insert(privilege) }
        return privileges
    }
}

/// What is asked of the server; nil for the class asks of the database.
private struct PrivilegeQuestion: Encodable, Sendable {
    var `class`: String?
    var key: String?
    /// The values of an object to be created.
    var set: String?
}

/// Values that a question about writing them carries.
package enum Proposal {
    /// The values by property name, in the form of PROTOCOL.md, section 9.8.
    package static func text(_ values: ValueMap) -> String { Hexadecimal.encode(values.wireBytes()) }

    static func text(_ row: Row, of declared: ClassSchema) -> String {
        var values = ValueMap()
        for (position, property) in declared.properties.enumerated()
        where !property.isRetired && !row.absent.contains(position) { values[property.name] = row.values[position] }
        return text(values)
    }
}

extension StoreCore {
    fileprivate func privileges(_ question: PrivilegeQuestion, timeout: Duration?) async throws -> Privileges {
        if let name = question.class, schema.classSchema(named: name)?.isLocal == true {
            return [.read, .create, .update, .delete]
        }
        let answer = try await answers(question, timeout: timeout)
        var privileges: Privileges = []
        for (name, privilege) in [
            ("read", Privileges.read), ("create", .create), ("update", .update), ("delete", .delete),
        ] where answer[name] == true { privileges.insert(privilege) }
        return privileges
    }

    fileprivate func answers(_ question: PrivilegeQuestion, timeout: Duration?) async throws -> [String: Bool] {
        let text = String(decoding: try JSONEncoder().encode(question), as: UTF8.self)
        let answer = try await self.privileges(asking: text, isLasting: question.key == nil, timeout: timeout)
        do { return try JSONDecoder().decode([String: Bool].self, from: Data(answer.utf8)) } catch {
            throw SyncError(.protocolViolation, "the server's answer about privileges cannot be read")
        }
    }
}
