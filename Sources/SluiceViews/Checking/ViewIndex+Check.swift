import SluiceModel
import SluiceQuery

extension ViewIndex {
    /// What is wrong with the index: each view must be filed where its query and its state say, and nothing else may be
    /// filed. Costs as much as filing all views anew.
    package func problems() -> [String] {
        let fresh = FilingTable()
        var placements: [(placement: FilingTable.Placement, number: UInt64)] = []
        var members = HashedNumbers<ObjectRef>()
        var deepCounts: [Int: Int] = [:]
        var problems: [String] = []
        for (number, view) in slots.enumerated() {
            guard let view else { continue }
            guard let place = view.filed, Int(place.slot) == number else {
                problems.append("'\(view.query.canonicalText)' does not know that it is filed")
                continue
            }
            guard place.isFiled else {
                if view.atoms == nil { problems.append("'\(view.query.canonicalText)' has no atoms and is not filed") }
                continue
            }
            if place.followsWindow, view.windowEnd != view.filedWindowEnd {
                problems.append("'\(view.query.canonicalText)' is filed under an end that its window no longer has")
            }
            let placement = FilingTable.Placement(
                filing: Filing(view), cover: place.cover < 0 ? nil : Int(place.cover))
            fresh.file(placement, UInt64(number))
            placements.append((placement, UInt64(number)))
            for object in view.closure?.objects ?? [] { members.insert(UInt64(number), for: object) }
            for classIndex in view.plan.deepClasses { deepCounts[classIndex, default: 0] += 1 }
        }
        problems += table.problems(besides: fresh, placements)
        if self.members.byObject.entryCounts != members.entryCounts {
            problems.append("the objects that views hold are not those under which they are filed")
        }
        if self.members.deepCounts != deepCounts { problems.append("the classes behind linked objects are miscounted") }
        return problems
    }
}

extension FilingTable {
    /// What differs from a table in which the same numbers were just filed.
    fileprivate func problems(
        besides fresh: FilingTable, _ placements: [(placement: Placement, number: UInt64)]
    ) -> [String] {
        var problems: [String] = []
        let (own, right) = (entryCounts, fresh.entryCounts)
        for number in Set(own.keys).union(right.keys).sorted() where own[number] != right[number] {
            problems.append("number \(number) has \(own[number] ?? 0) entries instead of \(right[number] ?? 0)")
        }
        for (placement, number) in placements
        where counts(at: placement) != fresh.counts(at: placement) || counts(at: placement).contains(0) {
            problems.append(
                "number \(number) is not where it belongs: \(counts(at: placement)), not \(fresh.counts(at: placement))"
            )
        }
        return problems
    }

    /// How many entries each number has.
    private var entryCounts: [UInt64: Int] {
        var counts: [UInt64: Int] = [:]
        func count(_ number: UInt64) { counts[number, default: 0] += 1 }
        for table in byClass.values { for numbers in table.values { numbers.forEach(count) } }
        for conditions in byCondition.values { conditions.forEach(count) }
        for table in byPath.values {
            table.anchors.forEach(count)
            table.linked.forEach(count)
        }
        for table in byDerived.values {
            table.anchors.forEach(count)
            table.linked.forEach(count)
        }
        for table in byChain.values { table.forEach(count) }
        byObject.forEach(count)
        return counts
    }

    /// How many numbers are filed at each place of a placement.
    private func counts(at placement: Placement) -> [Int] {
        let filing = placement.filing
        var counts = placement.classEntries.map { byClass[$0.classIndex]?[$0.properties]?.count ?? 0 }
        if let object = filing.object { counts.append(byObject.count(of: object)) }
        counts += filing.linked.map { byPath[$0.links]?.linked.count(of: $0.condition) ?? 0 }
        counts += filing.derived.map { byDerived[DerivedKey(filing, $0)]?.linked.count(of: $0.test) ?? 0 }
        counts += placement.chains.map { byChain[$0.links]?.numbers[$0.properties]?.count ?? 0 }
        for (classIndex, anchor) in placement.anchorsByClass {
            switch anchor {
            case .own(let condition): counts.append(byCondition[classIndex]?.count(of: condition) ?? 0)
            case .linked(let condition):
                counts.append(byPath[condition.links]?.anchors.count(of: condition.condition) ?? 0)
            case .derived(let condition):
                counts.append(byDerived[DerivedKey(filing, condition)]?.anchors.count(of: condition.test) ?? 0)
            }
        }
        return counts
    }
}

extension HashedNumbers {
    /// How many entries each number has.
    fileprivate var entryCounts: [UInt64: Int] {
        var counts: [UInt64: Int] = [:]
        forEach { counts[$0, default: 0] += 1 }
        return counts
    }
}
