import SluiceModel
import Testing

struct PropertySetTests {
    @Test(arguments: 0..<20 as Range<UInt64>)
    func aPropertySetDoesWhatASetOfNumbersDoes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let bound = [8, 64, 65, 130, 500][Int(seed % 5)]
        var sets = [PropertySet(), PropertySet()]
        var models: [Set<Int>] = [[], []]
        for step in 0..<300 {
            let index = Int(random.next() % 2)
            let position = Int(random.next() % UInt64(bound))
            switch random.next() % 16 {
            case 0..<6:
                sets[index].insert(position)
                models[index].insert(position)
            case 6..<12:
                sets[index].remove(position)
                models[index].remove(position)
            case 12:
                sets[index].formUnion(sets[1 - index])
                models[index].formUnion(models[1 - index])
            case 13:
                sets[index].subtract(sets[1 - index])
                models[index].subtract(models[1 - index])
            case 14:
                sets[index].formIntersection(sets[1 - index])
                models[index].formIntersection(models[1 - index])
            default:
                sets[index] = PropertySet(words: sets[index].words + [0, 0])
            }
            let isRight =
                zip(sets, models).allSatisfy { set, model in
                    Array(set) == model.sorted() && set.count == model.count && set.isEmpty == model.isEmpty
                        && set == PropertySet(model)
                        && (0..<bound).allSatisfy { set.contains($0) == model.contains($0) }
                }
                && Array(sets[0].union(sets[1])) == models[0].union(models[1]).sorted()
                && Array(sets[0].intersection(sets[1])) == models[0].intersection(models[1]).sorted()
                && sets[0].subtracting(sets[1]) == PropertySet(models[0].subtracting(models[1]))
                && (sets[0] == sets[1]) == (models[0] == models[1])
            guard isRight else {
                Issue.record("seed \(seed), step \(step): \(sets.map(Array.init)) instead of \(models)")
                return
            }
        }
    }

    @Test(arguments: [0, 1, 63, 64, 65, 128, 500])
    func theSetOfAllHoldsEveryPositionBelowTheCount(count: Int) {
        #expect(Array(PropertySet(all: count)) == Array(0..<count))
    }
}
