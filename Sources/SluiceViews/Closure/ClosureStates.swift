import SluiceModel
import SluiceQuery

/// The states of a ``ClosurePlan``, and the steps between them.
struct ClosureStates: Sendable, Equatable {
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
    // By the positions of classes, up to the last one that matters: every view asks for each change. A later class may
    // come to the schema without changing the plan.
    /// The root state of each class that can have roots.
    private(set) var rootStates: [Int?] = []
    /// The states of linked objects of each class.
    private(set) var linkedStates: [[Int]] = []

    /// - Parameters:
    ///   - rootClasses: the classes that results may be of.
    ///   - schema: the schema that the exclusion tree's positions belong to.
    ///   - hidden: the properties that the reader may not read, by class: they are excluded wherever they occur.
    init(rootClasses: some Sequence<Int>, exclusions: ExclusionTree, schema: Schema, hidden: [Int: PropertySet]) {
        var positions: [Int] = []
        var linked: [[Int]: Int] = [:]
        func state(_ classIndex: Int, at position: Int, isRoot: Bool) -> Int {
            if !isRoot, let known = linked[[classIndex, position]] { return known }
            let included = exclusions.presentProperties(
                propertyCount: schema[classIndex].properties.count, at: position
            ).subtracting(schema[classIndex].retiredProperties).subtracting(hidden[classIndex] ?? [])
            states.append(State(classIndex: classIndex, isRoot: isRoot, included: included))
            positions.append(position)
            let index = states.count - 1
            if isRoot {
                while rootStates.count <= classIndex { rootStates.append(nil) }
                rootStates[classIndex] = index
            } else {
                linked[[classIndex, position]] = index
                while linkedStates.count <= classIndex { linkedStates.append([]) }
                linkedStates[classIndex].append(index)
            }
            return index
        }

        for classIndex in rootClasses { _ = state(classIndex, at: ExclusionTree.root, isRoot: true) }
        var index = 0
        while index < states.count {
            let classIndex = states[index].classIndex
            for (property, declared) in schema[classIndex].properties.enumerated()
            where !(hidden[classIndex]?.contains(property) ?? false) {
                guard let name = declared.type.targetClass, let targetClass = schema.index(of: name),
                    let next = exclusions.next(following: property, at: positions[index])
                else { continue }
                let target = state(targetClass, at: next, isRoot: false)
                states[index].steps.append(Step(property: property, target: target, targetClass: targetClass))
                states[index].followed.insert(property)
                states[target].arrivals.append(Arrival(source: index, sourceClass: classIndex, property: property))
            }
            index += 1
        }
    }
}
