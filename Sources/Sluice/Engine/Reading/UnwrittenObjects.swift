internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// A state of the store without its pending writes: of each object that has any, the server's last image.
///
/// For conditions that follow no link backwards.
final class UnwrittenObjects: ObjectSource {
    private let state: any ObjectStanding

    init(_ state: any ObjectStanding) { self.state = state }

    var now: Timestamp { state.now }

    func row(_ object: ObjectRef) throws -> Row? {
        guard try state.hasPending(object) else { return try state.row(object) }
        return if case .row(let image)? = try state.baseImage(of: object) { image } else { nil }
    }

    func isPresent(_ object: ObjectRef) throws -> Bool {
        try state.hasPending(object) ? row(object) != nil : state.isPresent(object)
    }

    /// Calls `body` with the objects that link to another with their pending writes.
    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        try state.backlinks(to: object, fromClass: classIndex, property: property, body)
    }

    func spend(_ stepCount: Int) throws { try state.spend(stepCount) }
}
