internal import Glibc
internal import SluiceCLI

@main
struct Main {
    static func main() async {
        exit(await CommandLineTool.run())
    }
}
