package import SluiceModel
package import SluiceQuery

/// Finds the views or observers that a change could concern, by number. The cost grows with what is found and not with
/// what is filed. A server files views, a client files observers; see ``Filing``.
package struct FilingTable {
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
    /// The numbers that changes of one object find.
    private(set) var byObject = HashedNumbers<ObjectID>()

    /// What computes a value, from which class: paths of one text may begin at several classes.
    struct DerivedKey: Hashable {
        let rootClass: Int?
        let path: Query.Path
        let ignoresCase: Bool

        init(_ filing: Filing, _ condition: DerivedCondition) {
            rootClass = filing.rootClass
            path = condition.path
            ignoresCase = condition.ignoresCase
        }
    }

    /// If at least so many numbers are filed under a cover already, a cover with fewer numbers is preferred.
    private static let crowd = 8

    package init() {}

    /// Files a number. Costs O(conditions and classes of the filing · log n).
    package mutating func insert(_ filing: Filing, _ number: UInt64) -> Placement {
        let placement = Placement(filing: filing, cover: chooseCover(of: filing))
        file(placement, number)
        return placement
    }

    /// Files a number under a cover that was chosen.
    mutating func file(_ placement: Placement, _ number: UInt64) {
        let filing = placement.filing
        for entry in placement.classEntries {
            byClass[entry.classIndex, default: [:]].insert(number, for: entry.properties)
        }
        if let object = filing.object { byObject.insert(number, for: object) }
        for condition in filing.linked {
            byPath[condition.links, default: PathTable(condition.links)].linked.insert(condition.condition, number)
        }
        for condition in filing.derived {
            derivedTable(of: condition, filing).linked.insert(condition.test, number)
        }
        for anchor in placement.anchors {
            switch anchor {
            case .derived(let condition):
                derivedTable(of: condition, filing).anchors.insert(condition.test, number)
            case .own(let condition):
                guard let rootClass = filing.rootClass else { continue }
                byCondition[rootClass, default: PropertyConditions()].insert(condition, number)
            case .linked(let condition):
                byPath[condition.links, default: PathTable(condition.links)].anchors.insert(condition.condition, number)
            }
        }
    }

    private mutating func derivedTable(of condition: DerivedCondition, _ filing: Filing) -> DerivedTable {
        let key = DerivedKey(filing, condition)
        if let known = byDerived[key] { return known }
        let made = DerivedTable(condition, filing)
        byDerived[key] = made
        return made
    }

    /// Removes a number from where ``insert(_:_:)`` filed it.
    package mutating func remove(_ placement: Placement, _ number: UInt64) {
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
        for anchor in placement.anchors {
            switch anchor {
            case .derived(let condition):
                let key = DerivedKey(filing, condition)
                byDerived[key]?.anchors.remove(condition.test, number)
                if byDerived[key]?.isEmpty == true { byDerived[key] = nil }
            case .own(let condition):
                guard let rootClass = filing.rootClass else { continue }
                byCondition[rootClass]?.remove(condition, number)
                if byCondition[rootClass]?.isEmpty == true { byCondition[rootClass] = nil }
            case .linked(let condition):
                byPath[condition.links]?.anchors.remove(condition.condition, number)
                if byPath[condition.links]?.isEmpty == true { byPath[condition.links] = nil }
            }
        }
    }

    /// Chooses the cover to file under: the most selective one or, if that is crowded, the one with the fewest numbers.
    private func chooseCover(of filing: Filing) -> Int? {
        guard let rootClass = filing.rootClass, !filing.covers.isEmpty else { return nil }
        let counts = filing.covers.map { anchors in
            anchors.reduce(0) { count, anchor in
                switch anchor {
                case .own(let condition): count + (byCondition[rootClass]?.count(of: condition) ?? 0)
                case .linked(let condition):
                    count + (byPath[condition.links]?.anchors.count(of: condition.condition) ?? 0)
                case .derived(let condition):
                    count + (byDerived[DerivedKey(filing, condition)]?.anchors.count(of: condition.test) ?? 0)
                }
            }
        }
        guard counts[0] >= Self.crowd else { return 0 }
        return counts.indices.min { (counts[$0], $0) < (counts[$1], $1) }
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
        for (property, table) in byCondition[classIndex]?.tables ?? [:] {
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
}

extension FilingTable.Placement {
    /// The filing's classes, and the queried class if there is no cover.
    var classEntries: [Filing.ClassEntry] {
        guard cover == nil, let rootClass = filing.rootClass else { return filing.classes }
        return filing.classes + [.init(classIndex: rootClass, properties: filing.rootProperties)]
    }
}

extension ObjectRef {
    fileprivate func objectID(in schema: Schema) -> ObjectID {
        if case .id(let own) = key { return own }
        return Identity(className: schema[classIndex].name, key: key).objectID
    }
}
