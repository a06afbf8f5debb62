import SluiceModel
import SluiceQuery

/// Stores numbers whose queries read objects at the end of one chain of links in a way that no condition describes: to
/// sort by, or to compare with each other.
///
/// A change of such an object concerns a query only by way of the queried objects that lead to it. These are found by
/// following the links back, and find the numbers by the covers under which they are filed.
final class ChainTable {
    private let links: [QueryDependencies.Link]
    private let targetClass: Int
    /// The numbers, by the properties that their queries read at the end.
    private(set) var numbers: [PropertySet: NumberSet] = [:]

    /// The most queried objects that are looked up for one change. A change that more of them lead to finds all numbers.
    static let rootCountMax = 256

    init(_ path: QueryDependencies.LinkPath) {
        links = path.links
        targetClass = path.targetClass
    }

    var isEmpty: Bool { numbers.isEmpty }

    func insert(_ number: UInt64, _ properties: PropertySet) { numbers.insert(number, for: properties) }

    func remove(_ number: UInt64, _ properties: PropertySet) { numbers.remove(number, for: properties) }

    /// What a change at the end of the chain leads to.
    enum Reached {
        case nothing
        /// The queried objects that lead there.
        case roots([ObjectRef])
        /// Too many to look all of them up.
        case all
    }

    func reached(by change: ObjectDelta, of commit: CommitDelta, in source: any ObjectSource) throws -> Reached {
        guard change.object.classIndex == targetClass, numbers.keys.contains(where: change.concerns) else {
            return .nothing
        }
        let roots = try PathDependents.roots(
            leadingTo: change.object, by: links, commit, in: source, atMost: Self.rootCountMax)
        return roots.map { .roots($0) } ?? .all
    }

    /// Calls `body` with all numbers that a change concerns if it concerns the queried objects that lead to it.
    func forEach(concernedBy change: ObjectDelta, _ body: (UInt64) -> Void) {
        for (properties, numbers) in numbers where change.concerns(properties) { numbers.forEach(body) }
    }

    func forEach(_ body: (UInt64) -> Void) { for numbers in numbers.values { numbers.forEach(body) } }
}
