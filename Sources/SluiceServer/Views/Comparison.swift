internal import SluiceModel
internal import SluiceWire

/// The list of its members that a client sends for a subscription, while it comes in.
final class Comparison {
    /// The number of members that the client announced.
    let announcedCount: Int
    private(set) var known = KnownMembers()

    init(announcedCount: Int) { self.announcedCount = announcedCount }

    /// Takes a part of the list.
    ///
    /// - Throws: ``SessionEnd`` when it is not a list of members, or longer than announced.
    func add(_ members: ObjectBlock, schema: Schema) throws(SessionEnd) {
        if let problem = Self.problem(with: members, schema: schema) {
            throw SessionEnd(.protocolViolation, problem, action: .retry)
        }
        known.add(members)
        guard known.count > announcedCount else { return }
        throw SessionEnd(
            .protocolViolation, "more members than the \(announcedCount) announced", action: .retry)
    }

    private static func problem(with members: ObjectBlock, schema: Schema) -> String? {
        guard members.groups.allSatisfy({ $0.role != .member && $0.width == 0 }) else {
            return "members are listed as roots or linked objects, without properties"
        }
        return members.problem(namingObjectsOf: schema)
    }
}
