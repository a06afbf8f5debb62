package import SluiceModel
package import SluiceQuery

/// Says which links a query follows from which objects. It is the query's exclusion tree, unrolled over the schema into
/// a finite automaton.
///
/// A state is a class at a position of the exclusion tree, or a class as root. No step leads to a root state, so an
/// object that is both a root and linked is two nodes.
package struct ClosurePlan: Sendable, Equatable {
    struct State: Sendable, Equatable {
        let classIndex: Int
        let isRoot: Bool
        /// The properties that the view includes of an object in this state.
        let included: PropertySet
        var steps: [Step] = []
        /// The link properties of `steps`.
        var followed: PropertySet = []
        /// How linked objects lead here.
        var arrivals: [Arrival] = []
    }

    /// A step from one state through a link property to another state.
    struct Step: Sendable, Equatable {
        let property: Int
        let target: Int
        let targetClass: Int
    }

    /// A step, seen from the state that it leads to.
    struct Arrival: Sendable, Equatable {
        let source: Int
        let sourceClass: Int
        let property: Int
    }

    private(set) var states: [State] = []
    /// The root state of each class that can have roots.
    private(set) var rootStates: [Int: Int] = [:]
    /// The states of linked objects of each class.
    private(set) var linkedStates: [Int: [Int]] = [:]

    /// Whether links that the query follows lead to objects of a class.
    package func reaches(_ classIndex: Int) -> Bool { linkedStates[classIndex] != nil }

    /// The classes of which the view includes different properties depending on the path that leads to an object.
    private(set) var mixedClasses: Set<Int> = []
    /// The classes of objects that linked objects link to.
    private(set) var deepClasses: Set<Int> = []

    /// - Parameters:
    ///   - rootClasses: the classes that results may be of.
    ///   - schema: the schema that the exclusion tree's positions belong to.
    init(rootClasses: some Sequence<Int>, exclusions: ExclusionTree, schema: Schema) {
        var positions: [Int] = []
        var linked: [[Int]: Int] = [:]
        func state(_ classIndex: Int, at position: Int, isRoot: Bool) -> Int {
            if !isRoot, let known = linked[[classIndex, position]] { return known }
            let included = exclusions.presentProperties(
                propertyCount: schema[classIndex].properties.count, at: position
            ).subtracting(schema[classIndex].retiredProperties)
            states.append(State(classIndex: classIndex, isRoot: isRoot, included: included))
            positions.append(position)
            let index = states.count - 1
            if isRoot {
                rootStates[classIndex] = index
            } else {
                linked[[classIndex, position]] = index
                linkedStates[classIndex, default: []].append(index)
            }
            return index
        }

        for classIndex in rootClasses { _ = state(classIndex, at: ExclusionTree.root, isRoot: true) }
        var index = 0
        while index < states.count {
            let classIndex = states[index].classIndex
            for (property, declared) in schema[classIndex].properties.enumerated() {
                guard let name = declared.type.targetClass, let targetClass = schema.index(of: name),
                    let next = exclusions.next(following: property, ofClass: classIndex, at: positions[index])
                else { continue }
                let target = state(targetClass, at: next, isRoot: false)
                states[index].steps.append(Step(property: property, target: target, targetClass: targetClass))
                states[index].followed.insert(property)
                states[target].arrivals.append(Arrival(source: index, sourceClass: classIndex, property: property))
            }
            index += 1
        }
        for state in states where state.included != includable(ofClass: state.classIndex) {
            mixedClasses.insert(state.classIndex)
        }
        for state in states where !state.isRoot { deepClasses.formUnion(state.steps.map(\.targetClass)) }
    }

    /// - Parameter query: a query that was checked against `schema`.
    package init(_ query: Query, schema: Schema) { self.init(query.form, schema: schema) }

    init(_ form: QueryForm, schema: Schema) {
        let rootClasses = form.isOfObject ? Array(schema.classes.indices) : [form.classIndex]
        self.init(rootClasses: rootClasses, exclusions: form.exclusions, schema: schema)
    }

    /// Whether the view follows a link from every object of a class, whatever path leads to the object.
    ///
    /// - Parameter isRoot: whether the objects are roots; else they are linked.
    package func alwaysFollows(_ property: Int, ofClass classIndex: Int, isRoot: Bool) -> Bool {
        guard !isRoot else { return rootStates[classIndex].map { states[$0].followed.contains(property) } ?? false }
        guard let linked = linkedStates[classIndex] else { return false }
        return linked.allSatisfy { states[$0].followed.contains(property) }
    }

    /// Whether the view follows any link from a root.
    var followsLinks: Bool { !linkedStates.isEmpty }

    /// The classes of linked objects.
    var linkedClasses: some Sequence<Int> { linkedStates.keys }

    /// The properties that the view includes of a root of this class, apart from those that it includes of it as a
    /// linked object.
    func rootProperties(ofClass classIndex: Int) -> PropertySet {
        rootStates[classIndex].map { states[$0].included } ?? []
    }

    /// All properties that the view may include of an object of this class, in either role.
    func includable(ofClass classIndex: Int) -> PropertySet {
        var union = rootProperties(ofClass: classIndex)
        for state in linkedStates[classIndex] ?? [] { union.formUnion(states[state].included) }
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
