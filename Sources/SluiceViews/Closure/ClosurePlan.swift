package import SluiceModel
package import SluiceQuery

/// Says which links a query follows from which objects. It is the query's exclusion tree, unrolled over the schema into
/// a finite automaton.
///
/// A state is a class at a position of the exclusion tree, or a class as root. No step leads to a root state, so an
/// object that is both a root and linked is two nodes. An object, since every view asks its plan about each change.
package final class ClosurePlan: Sendable {
    let states: [ClosureStates.State]
    private let rootStates: [Int?]
    private let linkedStates: [[Int]]
    /// Whether an object may be both a root and linked.
    let isRootClassLinked: Bool
    /// Whether no links are followed from linked objects, each of which is in one state.
    let isFlat: Bool
    /// The classes of which the view includes different properties depending on the path that leads to an object.
    let mixedClasses: Set<Int>
    /// The classes of objects that linked objects link to.
    let deepClasses: Set<Int>

    /// - Parameters:
    ///   - rootClasses: the classes that results may be of.
    ///   - schema: the schema that the exclusion tree's positions belong to.
    ///   - hidden: the properties that the reader may not read, by class.
    init(
        rootClasses: some Sequence<Int>, exclusions: ExclusionTree, schema: Schema, hidden: [Int: PropertySet] = [:]
    ) {
        let built = ClosureStates(rootClasses: rootClasses, exclusions: exclusions, schema: schema, hidden: hidden)
        states = built.states
        rootStates = built.rootStates
        linkedStates = built.linkedStates
        var includable: [Int: PropertySet] = [:]
        for state in built.states { includable[state.classIndex, default: []].formUnion(state.included) }
        mixedClasses = Set(
            built.states.lazy.filter { $0.included != includable[$0.classIndex] }.map(\.classIndex))
        deepClasses = Set(built.states.lazy.filter { !$0.isRoot }.flatMap { $0.steps.map(\.targetClass) })
        isRootClassLinked = built.states.contains {
            !$0.isRoot && built.rootStates.indices.contains($0.classIndex)
                && built.rootStates[$0.classIndex] != nil
        }
        isFlat = deepClasses.isEmpty && built.linkedStates.allSatisfy { $0.count <= 1 }
    }

    /// - Parameters:
    ///   - query: a query that was checked against `schema`.
    ///   - hidden: the properties that the reader may not read, by class.
    package convenience init(_ query: Query, schema: Schema, hidden: [Int: PropertySet] = [:]) {
        self.init(query.form, schema: schema, hidden: hidden)
    }

    convenience init(_ form: QueryForm, schema: Schema, hidden: [Int: PropertySet]) {
        // What is computed is sent, and no object.
        let rootClasses =
            form.isOfObject ? Array(schema.classes.indices) : form.aggregates == nil ? [form.classIndex] : []
        self.init(rootClasses: rootClasses, exclusions: form.exclusions, schema: schema, hidden: hidden)
    }

    /// Whether another plan follows the same links, so that what was reached by one is reached by the other.
    func followsSameLinks(as other: ClosurePlan) -> Bool {
        rootStates == other.rootStates && linkedStates == other.linkedStates
            && states.elementsEqual(other.states) { $0.steps == $1.steps }
    }

    /// Whether the view follows a link from every object of a class, whatever path leads to the object.
    ///
    /// - Parameter isRoot: whether the objects are roots; else they are linked.
    package func alwaysFollows(_ property: Int, ofClass classIndex: Int, isRoot: Bool) -> Bool {
        guard !isRoot else {
            return rootState(ofClass: classIndex).map { states[$0].followed.contains(property) } ?? false
        }
        return reaches(classIndex) && linkedStates[classIndex].allSatisfy { states[$0].followed.contains(property) }
    }

    /// The root state of a class; nil if the class has no roots, or is that of a query of one object (-1).
    func rootState(ofClass classIndex: Int) -> Int? {
        rootStates.indices.contains(classIndex) ? rootStates[classIndex] : nil
    }

    /// The states of linked objects of a class.
    func linkedStates(ofClass classIndex: Int) -> [Int] {
        linkedStates.indices.contains(classIndex) ? linkedStates[classIndex] : []
    }

    /// Whether links that the query follows lead to objects of a class.
    package func reaches(_ classIndex: Int) -> Bool {
        linkedStates.indices.contains(classIndex) && !linkedStates[classIndex].isEmpty
    }

    /// The classes that can have roots.
    var rootClasses: [Int] { rootStates.indices.filter { rootStates[$0] != nil } }

    /// Whether the view follows any link from a root.
    var followsLinks: Bool { !linkedStates.isEmpty }

    /// The classes of linked objects.
    var linkedClasses: [Int] { linkedStates.indices.filter(reaches) }

    /// The properties that the view includes of a root of this class, apart from those that it includes of it as a
    /// linked object.
    func rootProperties(ofClass classIndex: Int) -> PropertySet {
        rootState(ofClass: classIndex).map { states[$0].included } ?? []
    }

    /// All properties that the view may include of an object of this class, in either role.
    func includable(ofClass classIndex: Int) -> PropertySet {
        var union = rootProperties(ofClass: classIndex)
        for state in linkedStates(ofClass: classIndex) { union.formUnion(states[state].included) }
        return union
    }

    /// Calls `body` with each node that a link of the row leads to from `state`. A node may occur several times.
    func forEachTarget(of row: Row, in state: Int, _ body: (ClosureNode) throws -> Void) rethrows {
        for step in states[state].steps {
            try row.forEachLink(in: step.property) { key in
                try body(ClosureNode(ObjectRef(step.targetClass, key), step.target))
            }
        }
    }
}

extension ClosurePlan: Equatable {
    package static func == (left: ClosurePlan, right: ClosurePlan) -> Bool {
        left.states == right.states && left.rootStates == right.rootStates && left.linkedStates == right.linkedStates
    }
}
