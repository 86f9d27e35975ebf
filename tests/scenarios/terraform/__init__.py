"""The orders of the sample repository: six Terraform and eight Kubernetes resources that refer to each other."""
