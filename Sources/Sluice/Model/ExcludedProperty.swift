public import SluiceModel
internal import Synchronization

/// Stands for a property whose value is not here because every query that brought its object excludes it.
public final class ExcludedProperty: Sendable {
    /// The object that has the property.
    public let object: Identity
    /// The property's name.
    public let name: String
    let binding: ElementBinding
    private let isReported = Atomic(false)

    init(of object: Identity, named name: String, binding: ElementBinding) {
        self.object = object
        self.name = name
        self.binding = binding
    }

    /// Reports the first read of the value to the store's log, if that is verbose.
    func touch(isLink: Bool = true) {
        guard binding.onExcludedAccess != nil, !isReported.exchange(true, ordering: .relaxed) else { return }
        binding.onExcludedAccess?(ExcludedAccess(object: object, property: name, isLink: isLink))
    }

    /// Fetches the object without the exclusion, and returns the property's value.
    func resolve(timeout: Duration?) async throws -> Value {
        guard let links = binding.links else { throw ModelError.detached(object.className) }
        let whole = try await links.resolver.resolve(object, as: Record.self, timeout: timeout)
        guard let position = whole.binding.classSchema.index(of: name), !whole.row.absent.contains(position) else {
            throw ModelError(.excluded, "\(object.className).\(name) did not come with its object")
        }
        return whole.row.values[position]
    }
}

extension ModelError {
    static func detached(_ className: String) -> ModelError {
        ModelError(
            .detached, "this link to \(className) was made by hand; only links of objects read from a store lead to one"
        )
    }
}
