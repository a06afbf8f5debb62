package import SluiceModel
package import SluiceQuery

/// Finds the views or observers that a change could concern, by number. The cost grows with what is found and not with
/// what is filed. A server files views, a client files observers; see ``Filing``. An object, so that nothing is copied to
/// be asked.
package final class FilingTable {
    /// Where a number was filed; needed to remove it.
    package struct Placement {
        package let filing: Filing
        /// The position of the chosen cover in the filing's covers; nil if it has none.
        package let cover: Int?

        init(filing: Filing, cover: Int?) {
            self.filing = filing
            self.cover = cover
        }

        var anchors: [QueryCover.Anchor] { cover.map { filing.covers[$0] } ?? [] }
    }

    /// The numbers that changes of a class find, by the properties whose changes count; nil for all properties.
    private(set) var byClass: [Int: [PropertySet?: NumberSet]] = [:]
    /// The numbers that changes of a class find by a property's value.
    private(set) var byCondition: [Int: PropertyConditions] = [:]
    /// The numbers that changes find by the values of linked objects, by the links that lead there.
    private(set) var byPath: [[QueryDependencies.Link]: PathTable] = [:]
    /// The numbers that changes find by computed values, by what computes them.
    private(set) var byDerived: [DerivedKey: DerivedTable] = [:]
    /// The numbers that changes of linked objects find by way of the queried objects, by the links that lead there.
    private(set) var byChain: [[QueryDependencies.Link]: ChainTable] = [:]
    /// The numbers that changes of one object find.
    private(set) var byObject = HashedNumbers<ObjectID>()

    /// What computes a value, from which class: paths of one text may begin at several classes.
    struct DerivedKey: Hashable {
        let rootClass: Int?
        let source: DerivedCondition.Source

        init(_ filing: Filing, _ condition: DerivedCondition) {
            rootClass = filing.rootClass
            source = condition.source
        }
    }

    /// If at least so many numbers are filed under a cover already, a cover with fewer numbers is preferred.
    private static let crowd = 8

    package init() {}

    /// Files a number. Costs O(conditions and classes of the filing · log n).
    package func insert(_ filing: Filing, _ number: UInt64) -> Placement {
        let placement = Placement(filing: filing, cover: chooseCover(of: filing))
        file(placement, number)
        return placement
    }

    /// Files a number under a cover that was chosen.
    func file(_ placement: Placement, _ number: UInt64) {
        let filing = placement.filing
        for entry in placement.classEntries {
            byClass[entry.classIndex, default: [:]].insert(number, for: entry.properties)
        }
        if let object = filing.object { byObject.insert(number, for: object) }
        for condition in filing.linked {
            byPath[condition.links, default: PathTable(condition.links)].insertLinked(condition, number)
        }
        for condition in filing.derived {
            derivedTable(of: condition, filing).linked.insert(condition.test, number)
        }
        for path in placement.chains {
            chainTable(of: path).insert(number, path.properties)
        }
        for (classIndex, anchor) in placement.anchorsByClass {
            switch anchor {
            case .derived(let condition):
                derivedTable(of: condition, filing).anchors.insert(condition.test, number)
            case .own(let condition):
                byCondition[classIndex, default: PropertyConditions()].insert(condition, number)
            case .linked(let condition):
                byPath[condition.links, default: PathTable(condition.links)].anchors.insert(condition.condition, number)
            }
        }
    }

    private func chainTable(of path: QueryDependencies.LinkPath) -> ChainTable {
        if let known = byChain[path.links] { return known }
        let made = ChainTable(path)
        byChain[path.links] = made
        return made
    }

    private func derivedTable(of condition: DerivedCondition, _ filing: Filing) -> DerivedTable {
        let key = DerivedKey(filing, condition)
        if let known = byDerived[key] { return known }
        let made = DerivedTable(condition, filing)
        byDerived[key] = made
        return made
    }

    /// Removes a number from where ``insert(_:_:)`` filed it.
    package func remove(_ placement: Placement, _ number: UInt64) {
        let filing = placement.filing
        for entry in placement.classEntries {
            byClass[entry.classIndex]?.remove(number, for: entry.properties)
            if byClass[entry.classIndex]?.isEmpty == true { byClass[entry.classIndex] = nil }
        }
        if let object = filing.object { byObject.remove(number, for: object) }
        for condition in filing.linked {
            byPath[condition.links]?.linked.remove(condition.condition, number)
            if byPath[condition.links]?.isEmpty == true { byPath[condition.links] = nil }
        }
        for condition in filing.derived {
            let key = DerivedKey(filing, condition)
            byDerived[key]?.linked.remove(condition.test, number)
            if byDerived[key]?.isEmpty == true { byDerived[key] = nil }
        }
        for path in placement.chains {
            byChain[path.links]?.remove(number, path.properties)
            if byChain[path.links]?.isEmpty == true { byChain[path.links] = nil }
        }
        for (classIndex, anchor) in placement.anchorsByClass {
            switch anchor {
            case .derived(let condition):
                let key = DerivedKey(filing, condition)
                byDerived[key]?.anchors.remove(condition.test, number)
                if byDerived[key]?.isEmpty == true { byDerived[key] = nil }
            case .own(let condition):
                byCondition[classIndex]?.remove(condition, number)
                if byCondition[classIndex]?.isEmpty == true { byCondition[classIndex] = nil }
            case .linked(let condition):
                byPath[condition.links]?.anchors.remove(condition.condition, number)
                if byPath[condition.links]?.isEmpty == true { byPath[condition.links] = nil }
            }
        }
    }

    /// Chooses the cover to file under: the most selective one or, if that is crowded, the one by which a change that
    /// meets it finds the fewest numbers.
    private func chooseCover(of filing: Filing) -> Int? {
        guard let rootClass = filing.rootClass, !filing.covers.isEmpty else { return nil }
        let counts = filing.covers.map { anchors in
            anchors.reduce(0) { count, anchor in
                switch anchor {
                case .own(let condition): count + (byCondition[rootClass]?.crowd(of: condition) ?? 0)
                case .linked(let condition):
                    count + (byPath[condition.links]?.anchors.crowd(of: condition.condition) ?? 0)
                case .derived(let condition):
                    count + (byDerived[DerivedKey(filing, condition)]?.anchors.crowd(of: condition.test) ?? 0)
                }
            }
        }
        guard counts[0] >= Self.crowd else { return 0 }
        let costs = filing.covers.indices.map {
            (counts[$0] + 1) * filing.covers[$0].map(\.findingFactor).reduce(1, max)
        }
        return costs.indices.min { (costs[$0], $0) < (costs[$1], $1) }
    }

    /// Calls `body` with each number that a change finds by the values of the changed object, with some of them more
    /// than once.
    ///
    /// - Parameter schema: the schema that has the class of the changed object.
    package func forEachCandidate(of change: ObjectDelta, schema: Schema, _ body: (UInt64) -> Void) {
        let classIndex = change.object.classIndex
        for (properties, numbers) in byClass[classIndex] ?? [:] where properties.map(change.concerns) ?? true {
            numbers.forEach(body)
        }
        if !byObject.isEmpty { byObject.forEach(of: change.object.objectID(in: schema), body) }
        forEachAnchored(by: change, body)
    }

    /// Calls `body` with each number that is filed under a condition which an object meets before a change or after it.
    private func forEachAnchored(by change: ObjectDelta, _ body: (UInt64) -> Void) {
        guard let conditions = byCondition[change.object.classIndex] else { return }
        for (property, table) in conditions.tables {
            guard let old = (change.old ?? change.new)?.value(of: property),
                let new = (change.new ?? change.old)?.value(of: property)
            else {
                table.forEach(body)
                continue
            }
            table.forEach(metBy: new, body)
            if old != new { table.forEach(metBy: old, body) }
        }
    }

    /// Calls `body` with each number that a change finds by the values of linked objects, with some of them more than
    /// once.
    ///
    /// - Parameters:
    ///   - source: the state after the change's group.
    ///   - before: the state before it.
    package func forEachCandidate(
        of change: ObjectDelta, in source: any ObjectSource, before: any ObjectSource, _ body: (UInt64) -> Void
    ) {
        for table in byPath.values { table.forEachCandidate(of: change, in: source, before: before, body) }
    }
}

extension FilingTable {
    /// Calls `body` with each number that a commit finds by computed values, with some of them more than once.
    ///
    /// - Throws: the errors of the sources.
    func forEachCandidate(
        of commit: CommitDelta, in source: any ObjectSource, before: any ObjectSource, _ body: (UInt64) -> Void
    ) throws {
        for table in byDerived.values {
            try table.forEachCandidate(of: commit, in: source, before: before, body)
        }
    }

    /// Calls `body` with each number that a change of a linked object finds by way of the queried objects that lead to
    /// it, with some of them more than once.
    ///
    /// - Throws: the errors of the sources.
    func forEachLinking(
        to change: ObjectDelta, of commit: CommitDelta, in source: any ObjectSource, before: any ObjectSource,
        _ body: (UInt64) -> Void
    ) throws {
        if byChain.isEmpty { return }
        for chain in byChain.values {
            switch try chain.reached(by: change, of: commit, in: source) {
            case .nothing: break
            case .all: chain.forEach(concernedBy: change, body)
            case .roots(let roots):
                for root in roots {
                    try forEachAnchored(root, of: commit, in: source, before: before, body)
                }
            }
        }
    }

    /// Calls `body` with each number under whose cover an object is, before a commit or after it.
    private func forEachAnchored(
        _ object: ObjectRef, of commit: CommitDelta, in source: any ObjectSource, before: any ObjectSource,
        _ body: (UInt64) -> Void
    ) throws {
        let change = commit.change(of: object)
        let new = try change.map { $0.new } ?? source.row(object)
        let old = change.map { $0.old } ?? new
        let both = ObjectDelta(object: object, old: old, new: new, authors: [])
        forEachAnchored(by: both, body)
        for table in byPath.values { table.forEachAnchored(by: both, in: source, before: before, body) }
        for (key, table) in byDerived where key.rootClass == object.classIndex {
            try table.forEachAnchored(old, new, of: commit, in: source, before: before, body)
        }
    }
}

extension QueryCover.Anchor {
    /// How much more often than a value a condition is met by a change. Most ranges that live queries ask for are at
    /// the end where things change, and each such change finds all of them.
    fileprivate var findingFactor: Int {
        switch self {
        case .own(let condition): condition.test.isRange ? 4 : 1
        case .linked(let condition): condition.condition.test.isRange ? 4 : 1
        case .derived(let condition): condition.test.isRange ? 4 : 1
        }
    }
}

extension RootCondition.Test {
    fileprivate var isRange: Bool { if case .range = self { true } else { false } }
}

extension FilingTable.Placement {
    /// The classes of which every change finds the query: the queried class if there is no cover, and then the classes of
    /// what it reads; and those of which the reader may see every object.
    var classEntries: [Filing.ClassEntry] {
        var entries = filing.classes
        for rule in filing.rules where rule.anchors.isEmpty {
            entries.append(.init(classIndex: rule.classIndex, properties: rule.properties))
        }
        guard cover == nil else { return entries }
        for path in filing.chains { entries.append(.init(classIndex: path.targetClass, properties: path.properties)) }
        if let rootClass = filing.rootClass {
            entries.append(.init(classIndex: rootClass, properties: filing.rootProperties))
        }
        return entries
    }

    /// The chains by which changes find the query through results.
    var chains: [QueryDependencies.LinkPath] { cover == nil ? [] : filing.chains }

    /// The conditions that objects meet whose changes find the query, with the classes of the objects.
    var anchorsByClass: [(classIndex: Int, anchor: QueryCover.Anchor)] {
        let own = filing.rootClass.map { rootClass in anchors.map { (rootClass, $0) } } ?? []
        return own + filing.rules.flatMap { rule in rule.anchors.map { (rule.classIndex, $0) } }
    }
}

extension ObjectRef {
    fileprivate func objectID(in schema: Schema) -> ObjectID {
        if case .id(let own) = key { return own }
        return Identity(className: schema[classIndex].name, key: key).objectID
    }
}
