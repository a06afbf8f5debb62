import Sluice
import SluiceModel
import Synchronization

/// Rows by identity, some of them here and some only on an imagined server.
final class FakeStore: LinkResolving {
    private struct State {
        var here: [Identity: Row] = [:]
        var remote: [Identity: Row] = [:]
        var accesses: [ExcludedAccess] = []
        var isVerbose = false
    }

    private let schema: Schema
    private let state = Mutex(State())

    init(_ types: [any Model.Type]) throws {
        schema = try Schema(types.map { try $0.declaredClass!.schema.get() })
    }

    var accesses: [ExcludedAccess] { state.withLock { $0.accesses } }

    var isVerbose: Bool {
        get { state.withLock { $0.isVerbose } }
        set { state.withLock { $0.isVerbose = newValue } }
    }

    func insert(_ value: some Model, isHere: Bool = true) {
        guard let binding = try? binding(of: type(of: value), className: type(of: value).className),
            let row = try? value.encoded(for: binding)
        else { return }
        insertRow(row, className: type(of: value).className, isHere: isHere)
    }

    func insertRow(_ row: Row, className: String, isHere: Bool) {
        let identity = Identity(className: className, key: row.key)
        state.withLock { if isHere { $0.here[identity] = row } else { $0.remote[identity] = row } }
    }

    func binding(of element: any ResultElement.Type, className: String) throws -> ElementBinding {
        let log: @Sendable (ExcludedAccess) -> Void = { [weak self] access in
            self?.state.withLock { $0.accesses.append(access) }
        }
        return try ElementBinding(
            element, className: className, schema: schema, links: LinkSource(self),
            onExcludedAccess: isVerbose ? log : nil)
    }

    func fetch(_ object: Identity, as element: any ResultElement.Type) throws -> BoundRow? {
        try state.withLock { $0.here[object] }.map {
            BoundRow($0, try binding(of: element, className: object.className))
        }
    }

    func isPresent(_ object: Identity) throws -> Bool { state.withLock { $0.here[object] } != nil }

    func backlinks(
        to object: Identity, className: String, property: String, as element: any ResultElement.Type
    ) throws -> [BoundRow] {
        let binding = try binding(of: element, className: className)
        return linking(to: object, className: className, property: property).map { BoundRow($0, binding) }
    }

    private func linking(to object: Identity, className: String, property: String) -> [Row] {
        guard let classIndex = schema.index(of: className), let position = schema[classIndex].index(of: property)
        else { return [] }
        let here = state.withLock { $0.here }
        let linking = here.filter { identity, row in
            guard identity.className == className else { return false }
            switch row.values[position] {
            case .link(let key): return key == object.key
            case .list(let elements): return elements.contains(.link(object.key))
            default: return false
            }
        }
        return linking.sorted { $0.key.objectID < $1.key.objectID }.map(\.value)
    }

    func backlinkCount(to object: Identity, className: String, property: String) throws -> Int {
        linking(to: object, className: className, property: property).count
    }

    func resolve(
        _ object: Identity, as element: any ResultElement.Type, timeout: Duration?
    ) async throws -> BoundRow {
        let row = state.withLock { state in
            if let row = state.remote.removeValue(forKey: object) { state.here[object] = row }
            return state.here[object]
        }
        guard let row else { throw ModelError(.notFound, "the server has no such \(object.className)") }
        return BoundRow(row, try binding(of: element, className: object.className))
    }
}
